"""The line by which a person knows a call again."""

from typing import Any, Final

import msgspec

from robota.contracts.tool import AnyTool

FIRST_ARGUMENT_HEAD: Final = 47
FIRST_ARGUMENT_TAIL: Final = 30


def call_title(tool: AnyTool | None, name: str, arguments: dict[str, Any]) -> str:
    """As the tool says; else its label, or the name it was called by, and the first argument."""
    if tool is not None and tool.title is not None:
        return tool.title(arguments)
    return f"{tool.label if tool is not None else name} {first_argument(arguments)}".rstrip()


def first_argument(arguments: dict[str, Any]) -> str:
    """The first argument as one short line, for a list of calls."""
    if not arguments:
        return ""
    value = next(iter(arguments.values()))
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    text = " ".join(text.split())
    if len(text) <= FIRST_ARGUMENT_HEAD + FIRST_ARGUMENT_TAIL + 3:
        return text
    return f"{text[:FIRST_ARGUMENT_HEAD]}...{text[-FIRST_ARGUMENT_TAIL:]}"
