"""Redacts an exported session: home and user name, host name, keys and passwords."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from robota.log.artifacts import NAME_LENGTH, SHORT_LENGTH
from robota.log.record import Record
from robota.secrets.redaction import Redactor

# User names that are common words: redacting them would garble the text and hide nothing.
COMMON_NAMES: Final = frozenset(
    {"root", "user", "admin", "home", "test", "dev", "guest", "ubuntu", "debian", "localhost", "host", "node", "app"}
)
SHORTEST_NAME: Final = 3
COVERED: Final = "[covered]"
MAX_DEPTH: Final = 200
# A short one is redacted only here: elsewhere the same letters are part of ordinary words.
PASSWORD_IN_URL: Final = re.compile(r"(://[^/@\s:]*+:)[^/@\s]++(?=@)")
# Of an artifact, in records the whole name and in texts for a model the short one.
ARTIFACT_NAME: Final = re.compile(rf"(?<![0-9a-f])[0-9a-f]{{{SHORT_LENGTH},{NAME_LENGTH}}}(?![0-9a-f])")


def artifacts_named_in(records: Iterable[Record], names: Sequence[str]) -> list[str]:
    """Those of the `names` of artifacts that these records reference, by whole or short name."""
    words = {name for record in records for name in ARTIFACT_NAME.findall(bytes(record.payload).decode())}
    return [name for name in names if any(name[:length] in words for length in range(SHORT_LENGTH, NAME_LENGTH + 1))]


class ExportRedactor:
    """Redacts names and paths of this machine and its user in texts and JSON."""

    def __init__(
        self, homes: Iterable[str], user: str, host: str, redactor: Redactor, words: Iterable[str] = ()
    ) -> None:
        """`homes` are the paths of the home directory; the longest is replaced first.

        `words` are further strings to redact, regardless of context.
        """
        self._redactor = redactor
        self._replacements: list[tuple[re.Pattern[str], str]] = []
        # Before names, which may be a part of them.
        secret = sorted({word for word in words if word}, key=len, reverse=True)
        if secret:
            self._replacements.append((re.compile("|".join(map(re.escape, secret)), re.IGNORECASE), COVERED))
        self._replacements.append((PASSWORD_IN_URL, rf"\1{COVERED}"))
        self._replacements += [
            (re.compile(re.escape(home) + r"(?![\w-]|\.[\w.-])"), "~")
            for home in sorted({home.rstrip("/") for home in homes if len(home.rstrip("/")) > 1}, key=len, reverse=True)
        ]
        for name, word in ((user, "user"), (host, "host"), (host.partition(".")[0], "host")):
            if len(name) >= SHORTEST_NAME and name.lower() not in COMMON_NAMES:
                pattern = rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])"
                self._replacements.append((re.compile(pattern, re.IGNORECASE), word))
        self._artifacts: dict[str, str] = {}

    def rename_artifact(self, name: str, new_name: str) -> None:
        """Replace the name of an artifact in texts with that of its redacted version."""
        self._artifacts[name] = new_name

    def text(self, text: str) -> str:
        """The text without names of this machine; `payload` and `data` redact keys and passwords."""
        for pattern, replacement in self._replacements:
            text = pattern.sub(replacement, text)
        if self._artifacts:
            text = ARTIFACT_NAME.sub(lambda found: self._renamed(found[0]), text)
        return text

    def _renamed(self, name: str) -> str:
        """The new name of an artifact, as long as the old one; any other text stays as it is."""
        new_name = next((new for old, new in self._artifacts.items() if old.startswith(name)), name)
        return new_name[: len(name)]

    def data(self, data: bytes) -> bytes | None:
        """A redacted artifact; None if it is binary, because its content cannot be checked."""
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return None
        return self._redactor(self.text(text).encode())

    def records(self, records: Iterable[Record]) -> Iterator[Record]:
        """The records with redacted payloads, which invalidates their hashes."""
        for record in records:
            yield msgspec.structs.replace(record, payload=msgspec.Raw(self.payload(bytes(record.payload))))

    def payload(self, payload: bytes) -> bytes:
        """A redacted payload."""
        return self._redactor(msgspec.json.encode(self._value(msgspec.json.decode(payload), 0)))

    def _value(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if depth > MAX_DEPTH:
            return None
        if isinstance(value, dict):
            return {self.text(key): self._value(each, depth + 1) for key, each in value.items()}
        if isinstance(value, list):
            return [self._value(each, depth + 1) for each in value]
        return value
