"""A tool as described by its MCP server, and its name, description and schema as offered to models."""

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from robota.contracts.tool import first_argument
from robota.text.visible import BLANK, CONTROL_CODES, SPACES, visible

MAX_DESCRIPTION_BYTES: Final = 2048
MAX_SCHEMA_BYTES: Final = 64 * 1024
MAX_TOOLS: Final = 256
# Values must be sent back unchanged, so only bidirectional and invisible characters are spelled out in them.
KEPT_IN_VALUES: Final = CONTROL_CODES | SPACES | BLANK
PARAMETER: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
# Model providers refuse a whole request if one of these is at the top level of a schema.
REFUSED_AT_TOP: Final = frozenset({"anyOf", "oneOf", "allOf", "not", "if", "then", "else", "$schema", "$id"})
TEXT_KEYS: Final = frozenset({"description", "title"})
# What every model provider accepts as the name of a tool.
MAX_NAME: Final = 64
NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]")


class RemoteTool(msgspec.Struct, frozen=True, kw_only=True):
    """The definition exactly as the server sent it, without its annotations, which cannot be trusted."""

    name: str
    description: str = ""
    schema: dict[str, Any] = {}
    needs_task: bool = False  # it can only be called as a long-running task

    @property
    def digest(self) -> str:
        """A hash of everything that is sent to models."""
        whole = msgspec.json.encode([self.name, self.description, self.schema], order="deterministic")
        return hashlib.sha256(whole).hexdigest()


class UnusableTool(Exception):
    """The tool cannot be offered to a model; the message says why."""


def tool_name(server: str, tool: str) -> str:
    """The name for models and rules, `mcp__server__tool`. A long one is cut and ends with a hash."""
    name = f"mcp__{server}__{NOT_IN_NAMES.sub('_', tool)}"
    if len(name) <= MAX_NAME:
        return name
    end = hashlib.sha256(f"{server}\0{tool}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name[: MAX_NAME - 9]}_{end}"


def title_for(server: str, tool: str) -> Callable[[Mapping[str, Any]], str]:
    """A function that makes the title of a call of this tool, for the user."""
    name = f"MCP {server}: {NOT_IN_NAMES.sub('_', tool)}"
    return lambda arguments: f"{name} {first_argument(dict(arguments))}".rstrip()


def offered_description(tool: RemoteTool) -> str:
    """The description for the model, with invisible characters spelled out, cut if it is too long."""
    text = visible(tool.description)
    data = text.encode()
    if len(data) <= MAX_DESCRIPTION_BYTES:
        return text
    return data[:MAX_DESCRIPTION_BYTES].decode("utf-8", "ignore") + " […]"


def offered_schema(tool: RemoteTool) -> dict[str, Any]:
    """The schema for the model. Raises `UnusableTool`."""
    schema = {key: value for key, value in tool.schema.items() if key not in REFUSED_AT_TOP}
    if schema.get("type", "object") != "object":
        raise UnusableTool("its parameters are not an object")
    properties = schema.get("properties", {})
    if not isinstance(properties, dict) or not all(map(PARAMETER.fullmatch, properties)):
        raise UnusableTool("the names of its parameters are not plain words")
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        raise UnusableTool("its list of required parameters is not a list of names")
    try:
        if len(msgspec.json.encode(schema)) > MAX_SCHEMA_BYTES:
            raise UnusableTool(f"its schema is longer than {MAX_SCHEMA_BYTES >> 10} KiB")
        shown: dict[str, Any] = _with_visible_text({**schema, "type": "object", "properties": properties})
    except RecursionError as error:
        raise UnusableTool("its schema is nested too deeply") from error
    return shown


def _with_visible_text(node: Any) -> Any:
    if isinstance(node, str):
        return visible(node, KEPT_IN_VALUES)
    if isinstance(node, list):
        return [_with_visible_text(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        _with_visible_text(key): visible(value)
        if key in TEXT_KEYS and isinstance(value, str)
        else _with_visible_text(value)
        for key, value in node.items()
    }
