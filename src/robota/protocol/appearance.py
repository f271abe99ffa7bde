"""How a person wants clients to draw."""

from enum import StrEnum

from robota.protocol.wire import Value


class ThemeName(StrEnum):
    """Which colours a client uses."""

    AUTO = "auto"
    DARK = "dark"
    LIGHT = "light"
    NONE = "none"


class Appearance(Value, frozen=True, kw_only=True):
    """The theme and what the status line shows; each client follows as far as it can."""

    theme: ThemeName = ThemeName.AUTO
    has_status_line: bool = True
    shows_git_branch: bool = True
