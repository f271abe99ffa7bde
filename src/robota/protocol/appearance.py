"""How a user wants clients to draw."""

from enum import StrEnum
from typing import Final

from robota.protocol.wire import Value


class ThemeName(StrEnum):
    """Which colours a client uses."""

    AUTO = "auto"
    DARK = "dark"
    LIGHT = "light"
    HIGH_CONTRAST = "high-contrast"
    COLOUR_BLIND = "colour-blind"
    NONE = "none"


# Their colours depend on what the terminal draws on.
ON_ANY_BACKGROUND: Final = frozenset({ThemeName.AUTO, ThemeName.HIGH_CONTRAST, ThemeName.COLOUR_BLIND})


class Appearance(Value, frozen=True, kw_only=True):
    """The theme, what the status line shows, and how much moves; each client follows as far as it can."""

    theme: ThemeName = ThemeName.AUTO
    has_status_line: bool = True
    shows_git_branch: bool = True
    reduces_motion: bool = False  # nothing counts up, and an answer comes block by block
