"""What is wrong with a setting, and how much it matters."""

from enum import StrEnum

import msgspec

from robota.text.visible import single_line


class Severity(StrEnum):
    """Whether Robota may go on with a problem of the settings."""

    WARNING = "warning"  # left out, the rest holds
    ERROR = "error"  # going on without it could do what the person forbade


class SettingsProblem(msgspec.Struct, frozen=True, kw_only=True):
    """`where` is a file or an environment variable; `key` is empty if all of it is meant."""

    where: str
    text: str
    severity: Severity
    line: int | None = None
    key: str = ""

    @property
    def message(self) -> str:
        place = single_line(self.where, 4096) + (f", line {self.line}" if self.line is not None else "")
        return f"{place}: {single_line(self.key)}: {self.text}." if self.key else f"{place}: {self.text}."
