"""How a user wants clients to draw."""

from enum import StrEnum
from typing import Final

from robota.protocol.wire import Value


class ThemeName(StrEnum):
    """The built-in themes; others are files of the user."""

    AUTO = "auto"
    DARK = "dark"
    LIGHT = "light"
    TERMINAL = "terminal"
    HIGH_CONTRAST = "high-contrast"
    COLOUR_BLIND = "colour-blind"
    NONE = "none"


# Their colours do not depend on what the terminal draws on.
ON_ONE_BACKGROUND: Final = frozenset({ThemeName.DARK, ThemeName.LIGHT, ThemeName.NONE})


class NotifyBy(StrEnum):
    """How a terminal calls a user who looks elsewhere: by a desktop notification where it can, or by its bell."""

    DESKTOP = "desktop"
    BELL = "bell"
    OFF = "off"


class Appearance(Value, frozen=True, kw_only=True):
    """The name of the theme, what the status line shows, and how much moves; each client follows as far as it can."""

    theme: str = ThemeName.AUTO.value
    has_status_line: bool = True
    shows_git_branch: bool = True
    reduces_motion: bool = False  # nothing counts up, and an answer comes block by block
