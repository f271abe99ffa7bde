"""The built-in tools, lookup by name, and the JSON Schemas that the model gets."""

from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from robota.contracts.tool import AnyTool

if TYPE_CHECKING:
    from robota.contracts.written_call import OtherForms

REFERENCE = "#/$defs/"
SCHEMAS: Final = Path(__file__).with_name("schemas.json")
SHELL_TOOL: Final = "execute_command"
# What a schema need not say: the description of a parameter has its default, and a call that breaks a bound gets an
# error that says so. Every request pays for every word.
NOT_SENT: Final = frozenset(
    {
        *("default", "maxLength", "minLength", "pattern", "minimum", "maximum", "exclusiveMinimum"),
        *("minItems", "maxItems", "additionalProperties"),
    }
)


class BuiltIn(msgspec.Struct, frozen=True):
    """A built-in tool, as far as it must be known before it is imported. `names` are its label and its aliases."""

    id: str
    package: str
    names: tuple[str, ...] = ()


# The order is fixed, because a provider caches the prompt only as long as the list of tools stays the same.
BUILT_IN: Final = (
    BuiltIn("read_file", "files", ("Read",)),
    BuiltIn("list_files", "files", ("List",)),
    BuiltIn("glob", "files", ("Glob",)),
    BuiltIn("search_files", "files", ("Grep",)),
    BuiltIn("symbols", "code", ("Symbols", "list_code_definition_names")),
    BuiltIn("code", "code", ("Code", "LSP")),
    BuiltIn("write_to_file", "editing", ("write_file", "Write")),
    BuiltIn("edit_file", "editing", ("Edit",)),
    BuiltIn("apply_diff", "editing", ("Diff",)),
    BuiltIn("apply_patch", "editing", ("Patch",)),
    BuiltIn("execute_command", "command", ("Bash",)),
    BuiltIn("read_command_output", "command", ("Output",)),
    BuiltIn("background_process", "command", ("BackgroundProcess",)),
    BuiltIn("web_fetch", "web", ("WebFetch",)),
    BuiltIn("update_todo_list", "task"),
    BuiltIn("ask_followup_question", "task"),
    BuiltIn("attempt_completion", "task"),
    BuiltIn("new_task", "task"),
    BuiltIn("switch_mode", "task"),
    BuiltIn("present_plan", "task"),
    BuiltIn("agent", "agents", ("Agent",)),
    BuiltIn("agent_send", "agents", ("AgentSend",)),
    BuiltIn("agent_wait", "agents", ("AgentWait",)),
    BuiltIn("agent_stop", "agents", ("AgentStop",)),
)
BUILT_IN_IDS: Final = tuple(tool.id for tool in BUILT_IN)


def builtin_names() -> dict[str, str]:
    """Every name of a built-in tool, mapped to its id. Imports none of them."""
    others = {name: tool.id for tool in BUILT_IN for name in tool.names}
    return {**others, **{id: id for id in BUILT_IN_IDS}}


def builtin_tools() -> tuple[AnyTool, ...]:
    """Import the tools. This happens with the first task, not with the first screen."""
    tools = (import_module(f"robota.tools.{tool.package}.{tool.id}").TOOL for tool in BUILT_IN)
    return tuple(msgspec.structs.replace(tool, other_forms=_forms_of(tool.name)) for tool in tools)


def _forms_of(id: str) -> "Callable[[], OtherForms]":
    def forms() -> "OtherForms":
        from robota.tools.foreign_calls import FOREIGN_CALLS

        return FOREIGN_CALLS[id]

    return forms


def by_name(tools: Iterable[AnyTool]) -> dict[str, AnyTool]:
    """Every name of a tool: its id, its aliases, its label. A tool's id is never overridden by another tool's alias."""
    every_tool = tuple(tools)
    names: dict[str, AnyTool] = {}
    for tool in every_tool:
        if tool.name in names:
            raise ValueError(f"two tools have the id {tool.name!r}")
        names[tool.name] = tool
    for tool in every_tool:
        for other in (*tool.aliases, tool.label):
            names.setdefault(other, tool)
    return names


def schema_of(tool: AnyTool) -> dict[str, Any]:
    """The JSON Schema of a tool's parameters, self-contained."""
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
    plain = {key: _inlined(value, definitions) for key, value in _without_null(node).items() if _is_sent(key, value)}
    if plain.get("type") == "object" and "properties" in plain:
        plain.pop("title", None)
    return plain


def _is_sent(key: str, value: Any) -> bool:
    """Whether a model needs it. A parameter may be called like a keyword; its value is a schema."""
    if isinstance(value, dict):
        return key != "$defs"
    return key not in NOT_SENT and (key, value) != ("required", [])


def _without_null(node: dict[str, Any]) -> dict[str, Any]:
    """The node without the alternative null: a model leaves an optional parameter out."""
    others = [part for part in node.get("anyOf", ()) if part != {"type": "null"}]
    if len(others) == len(node.get("anyOf", ())):
        return node
    rest = {key: value for key, value in node.items() if key != "anyOf" and (key, value) != ("default", None)}
    return {**rest, **others[0]} if len(others) == 1 else {**rest, "anyOf": others}
