"""What is wrong with a setting, and how much it matters."""

from enum import StrEnum
from typing import Final

import msgspec

LONGEST_SHOWN: Final = 80


class Severity(StrEnum):
    WARNING = "warning"  # left out, the rest holds
    ERROR = "error"  # going on without it could do what the person forbade


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """`where` is a file or an environment variable; `key` is empty if all of it is meant."""

    where: str
    text: str
    severity: Severity
    line: int | None = None
    key: str = ""

    @property
    def message(self) -> str:
        place = shown(self.where, 4096) + (f", line {self.line}" if self.line is not None else "")
        return f"{place}: {shown(self.key)}: {self.text}." if self.key else f"{place}: {self.text}."


def shown(text: str, longest: int = LONGEST_SHOWN) -> str:
    """Text from a file, made harmless for a terminal and short."""
    visible = text if text.isprintable() else text.encode("unicode_escape", "backslashreplace").decode("ascii")
    return visible if len(visible) <= longest else f"{visible[:longest]}…"
