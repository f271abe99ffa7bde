"""Keys and passwords in text that is kept or shown: covered with stars, so that nobody reads them later.

The cover is as long as what it covers. Offsets into a text stay right, JSON stays JSON, and a file can be covered in
place.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from mmap import mmap
from pathlib import Path
from typing import Final

# What a key begins with → what it looks like from there on. Looking for the beginnings first is what makes it cheap.
# In JSON a new line is `\n`, which a pattern must take as a whole or not at all.
SHAPES: Final[dict[bytes, bytes]] = {
    b"sk-": rb"(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{20,}",
    b"k_live_": rb"[A-Za-z0-9]{16,}",
    b"ghp_": rb"[A-Za-z0-9]{30,}",
    b"gho_": rb"[A-Za-z0-9]{30,}",
    b"ghs_": rb"[A-Za-z0-9]{30,}",
    b"github_pat_": rb"[A-Za-z0-9_]{22,}",
    b"glpat-": rb"[A-Za-z0-9_-]{20,}",
    b"AKIA": rb"[A-Z0-9]{16}(?![A-Za-z0-9])",
    b"ASIA": rb"[A-Z0-9]{16}(?![A-Za-z0-9])",
    b"AIza": rb"[A-Za-z0-9_-]{35}",
    b"xox": rb"[abeprs]-[A-Za-z0-9-]{10,}",
    b"npm_": rb"[A-Za-z0-9]{36}",
    b"pypi-": rb"[A-Za-z0-9_-]{50,}",
    b"hf_": rb"[A-Za-z0-9]{30,}",
    b"gsk_": rb"[A-Za-z0-9]{20,}",
    b"xai-": rb"[A-Za-z0-9]{20,}",
    b"eyJ": rb"[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
    b"-----BEGIN ": rb"(?:[A-Z]+ )*PRIVATE KEY-----(?:\\[nr]|[A-Za-z0-9+/=\s])+",
}
# One pass over what is nearly always free of keys.
SUSPICION: Final = (
    rb"sk-[A-Za-z0-9_-]{20}|k_live_|gh[ops]_|github_pat_|glpat-|A[KS]IA|AIza|xox|npm_|pypi-|hf_|gsk_|xai-|eyJ"
    rb"|-----BEGIN "
)
# A key stands by itself: after a letter or digit the same characters are the tail of an ordinary word, as in "task-".
WORD: Final = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
ESCAPES: Final = frozenset((rb"\n", rb"\r", rb"\t", rb"\b", rb"\f"))
BEFORE_LIVE: Final = frozenset(b"sr")

SECRET_NAME: Final = r"(?i)api_?key|token|secret|passw|credential|private_?key|_pat$"
NOT_A_SECRET: Final = r"(?i)_(?:file|path|dir|name|id|url|host|user|type|ttl|env)$"
SHORTEST: Final = 8
LONG_ENOUGH_WITHOUT_DIGIT: Final = 16
OF_NUMBERS: Final = frozenset("0123456789.eE+-")
WRITTEN_DIFFERENTLY: Final = frozenset(' "\\')

# A longer file is left as it is, because looking through it would be noticed.
LONGEST_FILE: Final = 16 * 1024 * 1024

Redact = Callable[[bytes], bytes]


class Redactor:
    """Covers the secrets it was told, and everything that has the shape of a well-known kind of key."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        usable = {secret for secret in secrets if _is_recognisable(secret)}
        # A longer one first, because it may hold a shorter one.
        self._secrets = tuple(sorted((secret.encode() for secret in usable), key=len, reverse=True))
        self._suspicious = re.compile(SUSPICION).search

    def __call__(self, data: bytes) -> bytes:
        """The text or JSON, without secrets; the very same object if there are none in it."""
        for secret in self._secrets:
            if secret in data:
                data = data.replace(secret, b"*" * len(secret))
        if self._suspicious(data) is None:
            return data
        for begins in SHAPES:
            if begins in data:
                data = _pattern(begins).sub(_covered, data)
        return data

    def cover_file(self, path: Path) -> None:
        """The same for a file, in place."""
        with path.open("r+b") as file:
            if not 0 < file.seek(0, 2) <= LONGEST_FILE:
                return
            with mmap(file.fileno(), 0) as text:
                for secret in self._secrets:
                    _cover_all(text, re.compile(re.escape(secret)))
                for begins in SHAPES:
                    if text.find(begins) >= 0:
                        _cover_all(text, _pattern(begins))


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


@cache
def _pattern(begins: bytes) -> re.Pattern[bytes]:
    return re.compile(re.escape(begins) + SHAPES[begins])


def _covered(found: re.Match[bytes]) -> bytes:
    return found[0] if _is_tail_of_a_word(found) else b"*" * len(found[0])


def _cover_all(text: mmap, pattern: re.Pattern[bytes]) -> None:
    for found in pattern.finditer(text):
        if not _is_tail_of_a_word(found):
            text[found.start() : found.end()] = b"*" * (found.end() - found.start())


def _is_tail_of_a_word(found: re.Match[bytes]) -> bool:
    start = found.start()
    before = found.string[max(start - 2, 0) : start]
    if not before or before in ESCAPES or before[-1] not in WORD or found.string[max(start - 6, 0) :][:2] == rb"\u":
        return False
    return not (found[0].startswith(b"k_live_") and before[-1] in BEFORE_LIVE)
