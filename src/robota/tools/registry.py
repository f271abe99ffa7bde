"""The built-in tools, lookup by name, and the JSON Schemas that the model gets."""

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
# Each tool's package and its other names, available without importing any tool. The order is fixed, because a provider
# caches the prompt only as long as the list of tools stays the same.
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
    """Every name of a built-in tool, mapped to its id. Imports none of them."""
    others = {name: id for id, (_, *names) in PLACES.items() for name in names}
    return {**others, **{id: id for id in PLACES}}


def builtin_tools() -> tuple[AnyTool, ...]:
    """Import the tools. This happens with the first task, not with the first screen."""
    return tuple(import_module(f"robota.tools.{room}.{id}").TOOL for id, (room, *_) in PLACES.items())


def by_name(tools: Iterable[AnyTool]) -> dict[str, AnyTool]:
    """Every name of a tool: its id, its aliases, its label. A tool's id is never overridden by another tool's alias."""
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
    """The JSON Schema of a tool's parameters, self-contained and without additional properties."""
    if tool.schema is not None:
        return tool.schema
    return _written_schemas().get(written_name(tool)) or made_schema(tool)


def written_name(tool: AnyTool) -> str:
    """The key of a tool's stored schema: the name of its parameter type, which is unique."""
    return f"{tool.params.__module__}.{tool.params.__qualname__}"


@cache
def _written_schemas() -> dict[str, dict[str, Any]]:
    """The schemas of the built-in tools from `make reference`; generating them would slow down every start."""
    return msgspec.json.decode(SCHEMAS.read_bytes(), type=dict[str, dict[str, Any]])


def made_schema(tool: AnyTool) -> dict[str, Any]:
    """The JSON Schema, generated from the parameter type."""
    document = msgspec.json.schema(tool.params)
    schema: dict[str, Any] = _inlined(document, document.get("$defs", {}))
    return schema


def _inlined(node: Any, definitions: dict[str, Any]) -> Any:
    """The node with references inlined. Parameters are never recursive."""
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
