"""Keys and passwords in text that is kept or shown: covered with stars, so that nobody reads them later.

The cover is as long as what it covers. Offsets into a text stay right, JSON stays JSON, and a file can be covered in
place.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from mmap import mmap
from pathlib import Path
from typing import Final

from robota.secrets.covered_stream import CoveredStream, Kinds, known_secrets, well_known_keys

SECRET_NAME: Final = r"(?i)api_?key|token|secret|passw|credential|private_?key|_pat$"
NOT_A_SECRET: Final = r"(?i)_(?:file|path|dir|name|id|url|host|user|type|ttl|env)$"
SHORTEST: Final = 8
LONG_ENOUGH_WITHOUT_DIGIT: Final = 16
OF_NUMBERS: Final = frozenset("0123456789.eE+-")
WRITTEN_DIFFERENTLY: Final = frozenset(' "\\')

# Short enough that other threads are not kept waiting while one piece is looked through.
PIECE_OF_A_FILE: Final = 128 * 1024


class Redactor:
    """Covers the secrets it was told, and everything that has the shape of a well-known kind of key."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        usable = {secret for secret in secrets if _is_recognisable(secret)}
        self._secrets = tuple(sorted((secret.encode() for secret in usable), key=len, reverse=True))

    def __call__(self, data: bytes) -> bytes:
        """The text or JSON, without secrets; the very same object if there are none in it."""
        if not well_known_keys().suspected_in(data) and not any(secret in data for secret in self._secrets):
            return data
        covered = self.stream().feed(data, final=True)
        return data if covered == data else covered

    def stream(self) -> CoveredStream:
        """For one text that comes piece by piece."""
        return CoveredStream(self._kinds)

    def cover_file(self, path: Path) -> None:
        """The same for a file, in place. It takes some seconds for a hundred megabytes, so call it in a thread."""
        stream = self.stream()
        with path.open("r+b") as file:
            if file.seek(0, 2) == 0:
                return
            with mmap(file.fileno(), 0) as text:
                done = 0
                for start in range(0, len(text), PIECE_OF_A_FILE):
                    end = start + PIECE_OF_A_FILE
                    covered = stream.feed(text[start:end], final=end >= len(text))
                    if text[done : done + len(covered)] != covered:
                        text[done : done + len(covered)] = covered
                    done += len(covered)

    @cached_property
    def _kinds(self) -> Kinds | None:
        return known_secrets(self._secrets)


def secrets_in(environment: Mapping[str, str]) -> list[str]:
    """The values of variables whose names say that they are secret."""
    return [
        value
        for name, value in environment.items()
        if re.search(SECRET_NAME, name) and not re.search(NOT_A_SECRET, name) and not value.startswith(("/", "$"))
    ]


def _is_recognisable(secret: str) -> bool:
    """Whether it cannot be taken for an ordinary word or number, which would then be missing everywhere.

    One that JSON would write differently is left out too: it has no single form to look for.
    """
    if len(secret) < SHORTEST or OF_NUMBERS.issuperset(secret) or not secret.isascii() or not secret.isprintable():
        return False
    if not WRITTEN_DIFFERENTLY.isdisjoint(secret):
        return False
    return len(secret) >= LONG_ENOUGH_WITHOUT_DIGIT or any(character.isdigit() for character in secret)
