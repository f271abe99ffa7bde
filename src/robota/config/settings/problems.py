"""Problems of settings and their severity."""

from enum import StrEnum

import msgspec

from robota.text.visible import single_line


class Severity(StrEnum):
    """Whether Robota may start despite a problem."""

    WARNING = "warning"  # the setting is ignored, the others are used
    ERROR = "error"  # starting without it could do something that the user forbade


class SettingsProblem(msgspec.Struct, frozen=True, kw_only=True):
    """A problem. `where` is a file or an environment variable; `key` is empty for the file as a whole."""

    where: str
    text: str
    severity: Severity
    line: int | None = None
    key: str = ""

    @property
    def message(self) -> str:
        location = single_line(self.where, 4096) + (f", line {self.line}" if self.line is not None else "")
        return f"{location}: {single_line(self.key)}: {self.text}." if self.key else f"{location}: {self.text}."
