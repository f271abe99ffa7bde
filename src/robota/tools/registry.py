"""The built-in tools, how they are found by name, and the JSON Schema a model is given for each."""

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import msgspec

from robota.contracts.tool import AnyTool

REFERENCE = "#/$defs/"
SCHEMAS: Final = Path(__file__).with_name("schemas.json")
SHELL_TOOL: Final = "execute_command"
# Where each stands, and what it is called besides its id: so much is known before any of them is loaded.
# In a fixed order, because a provider caches the prompt only as long as the list of tools stays the same.
PLACES: Final = {
    "read_file": ("files", "Read"),
    "list_files": ("files", "List"),
    "glob": ("files", "Glob"),
    "search_files": ("files", "Grep"),
    "write_to_file": ("editing", "write_file", "Write"),
    "edit_file": ("editing", "Edit"),
    "apply_diff": ("editing", "Diff"),
    "apply_patch": ("editing", "Patch"),
    "execute_command": ("command", "Bash"),
    "read_command_output": ("command", "Output"),
    "background_process": ("command", "BackgroundProcess"),
    "web_fetch": ("web", "WebFetch"),
    "update_todo_list": ("task",),
    "ask_followup_question": ("task",),
    "attempt_completion": ("task",),
    "new_task": ("task",),
    "switch_mode": ("task",),
}


def builtin_names() -> dict[str, str]:
    """Every name that a built-in tool answers to, with its id. Loads none of them."""
    others = {name: id for id, (_, *names) in PLACES.items() for name in names}
    return {**others, **{id: id for id in PLACES}}


def builtin_tools() -> tuple[AnyTool, ...]:
    """The tools themselves. They are loaded with the first task, not with the first screen."""
    return tuple(import_module(f"robota.tools.{room}.{id}").TOOL for id, (room, *_) in PLACES.items())


def by_name(tools: Iterable[AnyTool]) -> dict[str, AnyTool]:
    """Every name a tool answers to: its id, its aliases, its label. An id is never taken over by another tool."""
    known = tuple(tools)
    names: dict[str, AnyTool] = {}
    for tool in known:
        if tool.name in names:
            raise ValueError(f"two tools have the id {tool.name!r}")
        names[tool.name] = tool
    for tool in known:
        for other in (*tool.aliases, tool.label):
            names.setdefault(other, tool)
    return names


def schema_of(tool: AnyTool) -> dict[str, Any]:
    """The JSON Schema of a tool's parameters, in one piece and closed."""
    if tool.schema is not None:
        return tool.schema
    return _written_schemas().get(written_name(tool)) or made_schema(tool)


def written_name(tool: AnyTool) -> str:
    """Under which its schema is written down: that of its parameters, which no other tool has."""
    return f"{tool.params.__module__}.{tool.params.__qualname__}"


@cache
def _written_schemas() -> dict[str, dict[str, Any]]:
    """Those of the built-in tools, as `make reference` wrote them: making them costs every start some milliseconds."""
    return msgspec.json.decode(SCHEMAS.read_bytes(), type=dict[str, dict[str, Any]])


def made_schema(tool: AnyTool) -> dict[str, Any]:
    """The same, made from the types of the parameters."""
    document = msgspec.json.schema(tool.params)
    schema: dict[str, Any] = _inlined(document, document.get("$defs", {}))
    return schema


def _inlined(node: Any, definitions: dict[str, Any]) -> Any:
    """The node with references replaced by what they mean. Parameters are never recursive."""
    if isinstance(node, list):
        return [_inlined(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = definitions[node["$ref"].removeprefix(REFERENCE)]
        rest = {key: value for key, value in node.items() if key not in {"$ref", "$defs"}}
        return {**_inlined(target, definitions), **rest}
    plain = {key: _inlined(value, definitions) for key, value in node.items() if key != "$defs"}
    if plain.get("type") == "object" and "properties" in plain:
        plain.pop("title", None)
        plain["additionalProperties"] = False
    return plain
