"""The glyphs of frames, marks and boxes, and their substitutes for fonts that lack them."""

from collections.abc import Mapping
from typing import Final

import msgspec


class Glyphs(msgspec.Struct, frozen=True, kw_only=True):
    """Corners and edges of a frame, the sign of the focus, the boxes of a task list."""

    top_left: str = "╭"
    top_right: str = "╮"
    bottom_left: str = "╰"
    bottom_right: str = "╯"
    across: str = "─"
    upright: str = "│"
    focus: str = "❯"
    done: str = "☑"
    open: str = "☐"


SYMBOLS: Final = Glyphs()
ASCII: Final = Glyphs(
    top_left="+", top_right="+", bottom_left="+", bottom_right="+", across="-", upright="|",
    focus=">", done="[x]", open="[ ]",
)  # fmt: skip


def glyphs_for(env: Mapping[str, str]) -> Glyphs:
    """ASCII on the Linux console, whose fonts lack most signs, and where the locale says that text is not Unicode."""
    locale = next((env[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if env.get(name)), "")
    has_unicode = not locale or "utf" in locale.lower()
    return SYMBOLS if has_unicode and env.get("TERM") != "linux" else ASCII
