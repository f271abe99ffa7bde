"""Output styles: Markdown files that say how the model answers, in the form of Claude Code."""

from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Final

import msgspec

from robota.knowledge.front_matter import read_front_matter
from robota.text.visible import LINES_AND_TABS, SPACES, single_line, visible

DEFAULT: Final = "default"
LONGEST_TEXT: Final = 64 * 1024
LONGEST_NAME: Final = 64
LONGEST_DESCRIPTION: Final = 300
TRUE: Final = frozenset({"true", "yes", "on", "1"})


class OutputStyle(msgspec.Struct, frozen=True, kw_only=True):
    """How the model answers. Without `keeps_coding` it is not told how to go about code."""

    name: str
    description: str
    text: str
    path: str
    keeps_coding: bool = False


def output_style(path: str, data: bytes, plugin: str = "") -> OutputStyle:
    """A style from its file. Never raises; what is no front matter is text of the style."""
    matter = read_front_matter(data[:LONGEST_TEXT].decode("utf-8", "backslashreplace").replace("\r\n", "\n"))
    written = str(matter.fields.get("name") or PurePosixPath(path).stem)
    name = single_line(" ".join(written.split()), LONGEST_NAME)
    return OutputStyle(
        name=f"{plugin}:{name}" if plugin else name,
        description=single_line(" ".join(str(matter.fields.get("description") or "").split()), LONGEST_DESCRIPTION),
        text=visible(matter.text.strip(), LINES_AND_TABS | SPACES),
        path=path,
        keeps_coding=str(matter.fields.get("keep-coding-instructions")).lower() in TRUE,
    )


def style_named(name: str, styles: Iterable[OutputStyle]) -> OutputStyle | None:
    """The first with this name, in any case of letters; one of a plugin also without the name of the plugin."""
    wanted, found = name.lower(), tuple(styles)
    whole = (style for style in found if style.name.lower() == wanted)
    short = (style for style in found if style.name.lower().partition(":")[2] == wanted)
    return next(whole, None) or next(short, None)
