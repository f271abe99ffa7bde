"""Reads agent definitions (`agents/NAME.md`). They are only listed; none is run yet."""

from pathlib import PurePosixPath
from typing import Any, Final

import msgspec

from robota.knowledge.front_matter import read_front_matter
from robota.text.visible import single_line

MAX_NAME: Final = 64
MAX_DESCRIPTION: Final = 300


class AgentFile(msgspec.Struct, frozen=True, kw_only=True):
    """The metadata of an agent. The name of a plugin's agent is `plugin:name`."""

    name: str
    description: str = ""
    tools: str = ""
    model: str = ""


def agent_file(path: str, data: bytes, plugin: str = "") -> AgentFile:
    """Read the front matter of an agent file. The name defaults to that of the file."""
    fields = read_front_matter(data.decode("utf-8", "backslashreplace")).fields
    name = single_line(_joined_text(fields.get("name")) or PurePosixPath(path).stem, MAX_NAME)
    return AgentFile(
        name=f"{plugin}:{name}" if plugin else name,
        description=single_line(_joined_text(fields.get("description")), MAX_DESCRIPTION),
        tools=single_line(_joined_text(fields.get("tools")), MAX_DESCRIPTION),
        model=single_line(_joined_text(fields.get("model")), MAX_NAME),
    )


def _joined_text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(str(item) for item in value if not isinstance(item, list | dict))
    return "" if value is None or isinstance(value, dict) else " ".join(str(value).split())
