"""An agent as its file describes it (`agents/NAME.md`). They are read to be shown; none is run yet."""

from pathlib import PurePosixPath
from typing import Any, Final

import msgspec

from robota.knowledge.front_matter import read_front_matter
from robota.text.visible import single_line

LONGEST_NAME: Final = 64
LONGEST_DESCRIPTION: Final = 300


class AgentFile(msgspec.Struct, frozen=True, kw_only=True):
    """Its name (`plugin:name` for one of a plugin), what it says of itself, and the tools and model that it wants."""

    name: str
    description: str = ""
    tools: str = ""
    model: str = ""


def agent_file(path: str, data: bytes, plugin: str = "") -> AgentFile:
    """What a file says; what is missing in it is found by its name."""
    fields = read_front_matter(data.decode("utf-8", "backslashreplace")).fields
    name = single_line(_words(fields.get("name")) or PurePosixPath(path).stem, LONGEST_NAME)
    return AgentFile(
        name=f"{plugin}:{name}" if plugin else name,
        description=single_line(_words(fields.get("description")), LONGEST_DESCRIPTION),
        tools=single_line(_words(fields.get("tools")), LONGEST_DESCRIPTION),
        model=single_line(_words(fields.get("model")), LONGEST_NAME),
    )


def _words(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(str(each) for each in value if not isinstance(each, list | dict))
    return "" if value is None or isinstance(value, dict) else " ".join(str(value).split())
