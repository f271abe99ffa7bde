"""Reads output styles: Markdown files, in the format of Claude Code, that say how the model writes its answers."""

from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Final

import msgspec

from robota.knowledge.front_matter import TRUE_WORDS, read_front_matter
from robota.text.visible import LINES_AND_TABS, SPACES, single_line, visible

DEFAULT: Final = "default"
MAX_BYTES: Final = 64 * 1024
MAX_NAME: Final = 64
MAX_DESCRIPTION: Final = 300


class OutputStyle(msgspec.Struct, frozen=True, kw_only=True):
    """A style. Unless it `keeps_coding`, the coding instructions are left out of the system prompt."""

    name: str
    description: str
    text: str
    path: str
    keeps_coding: bool = False


def output_style(path: str, data: bytes, plugin: str = "") -> OutputStyle:
    """Read a style from its file. Never raises: invalid front matter is text of the style."""
    matter = read_front_matter(data[:MAX_BYTES].decode("utf-8", "backslashreplace").replace("\r\n", "\n"))
    written = str(matter.fields.get("name") or PurePosixPath(path).stem)
    name = single_line(" ".join(written.split()), MAX_NAME)
    return OutputStyle(
        name=f"{plugin}:{name}" if plugin else name,
        description=single_line(" ".join(str(matter.fields.get("description") or "").split()), MAX_DESCRIPTION),
        text=visible(matter.text.strip(), LINES_AND_TABS | SPACES),
        path=path,
        keeps_coding=str(matter.fields.get("keep-coding-instructions")).lower() in TRUE_WORDS,
    )


def style_named(name: str, styles: Iterable[OutputStyle]) -> OutputStyle | None:
    """The first style of this name, ignoring case. A plugin's style is also found without the plugin's name."""
    lowered, candidates = name.lower(), tuple(styles)
    whole = (style for style in candidates if style.name.lower() == lowered)
    short = (style for style in candidates if style.name.lower().partition(":")[2] == lowered)
    return next(whole, None) or next(short, None)
