"""A panel: something to read above the input, which is gone when it is closed."""

from enum import Enum, auto

import msgspec
from msgspec.structs import replace

from robota.protocol.slash_commands import ContextShown
from robota.protocol.views import View


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """The text being read, and its first visible row."""

    title: str
    content: View | ContextShown
    top: int = 0

    def moved(self, by: int, count: int, height: int) -> "Panel":
        """Scrolled as far as there are rows."""
        return replace(self, top=max(0, min(self.top + by, count - height)))


class PanelLeft(Enum):
    """How a panel is left: by a key of its own, or because the user writes something."""

    CLOSED = auto()
    WRITING = auto()


def press_in_panel(panel: Panel, key: str, count: int, height: int) -> Panel | PanelLeft:
    """The panel after a key, or how it is left."""
    page = max(1, height - 1)
    moves = {"up": -1, "down": 1, "page-up": -page, "page-down": page, "space": page}
    if key in moves:
        return panel.moved(moves[key], count, height)
    if key in ("escape", "enter", "q"):
        return PanelLeft.CLOSED
    return PanelLeft.WRITING if len(key) == 1 and key.isprintable() else panel
