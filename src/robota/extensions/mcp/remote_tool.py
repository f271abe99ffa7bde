"""A tool as its server describes it, and what of that may reach a model: bounded, visible, in a shape servers take."""

import hashlib
import re
from typing import Any, Final

import msgspec

from robota.text.visible import BLANK, CONTROL_CODES, SPACES, visible

DESCRIPTION_BYTES: Final = 2048
SCHEMA_BYTES: Final = 64 * 1024
MOST_TOOLS: Final = 256
# A value must be sent back as it is, so only what turns text around or smuggles it is spelt out there.
KEPT_IN_VALUES: Final = CONTROL_CODES | SPACES | BLANK
PARAMETER: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
# Model servers refuse a whole request for one of these at the top of one schema.
NOT_AT_THE_TOP: Final = frozenset({"anyOf", "oneOf", "allOf", "not", "if", "then", "else", "$schema", "$id"})
WORDS: Final = frozenset({"description", "title"})
# A name that every model server takes.
LONGEST_NAME: Final = 64
NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]")


class RemoteTool(msgspec.Struct, frozen=True, kw_only=True):
    """Exactly what the server said. What it claims of its harmlessness is not even kept."""

    name: str
    description: str = ""
    schema: dict[str, Any] = {}
    needs_task: bool = False  # it can only be called as a task that the client asks after

    @property
    def digest(self) -> str:
        """Changes if anything changes that a model would be told."""
        whole = msgspec.json.encode([self.name, self.description, self.schema], order="deterministic")
        return hashlib.sha256(whole).hexdigest()


class UnusableTool(Exception):
    """The tool cannot be offered to a model; the text says why."""


def tool_name(server: str, tool: str) -> str:
    """The name for models and rules, `mcp__server__tool`. A long one is cut and ends with a hash of the whole."""
    name = f"mcp__{server}__{NOT_IN_NAMES.sub('_', tool)}"
    if len(name) <= LONGEST_NAME:
        return name
    end = hashlib.sha256(f"{server}\0{tool}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name[: LONGEST_NAME - 9]}_{end}"


def offered_description(tool: RemoteTool) -> str:
    """What the model reads: nothing unseen in it, and not too long."""
    text = visible(tool.description)
    whole = text.encode()
    if len(whole) <= DESCRIPTION_BYTES:
        return text
    return whole[:DESCRIPTION_BYTES].decode("utf-8", "ignore") + " […]"


def offered_schema(tool: RemoteTool) -> dict[str, Any]:
    """The schema for the model, or `UnusableTool`."""
    schema = {key: value for key, value in tool.schema.items() if key not in NOT_AT_THE_TOP}
    if schema.get("type", "object") != "object":
        raise UnusableTool("its parameters are not an object")
    properties = schema.get("properties", {})
    if not isinstance(properties, dict) or not all(map(PARAMETER.fullmatch, properties)):
        raise UnusableTool("the names of its parameters are not plain words")
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        raise UnusableTool("its list of required parameters is no list of names")
    try:
        if len(msgspec.json.encode(schema)) > SCHEMA_BYTES:
            raise UnusableTool(f"its schema is longer than {SCHEMA_BYTES >> 10} KiB")
        shown: dict[str, Any] = _with_visible_words({**schema, "type": "object", "properties": properties})
    except RecursionError as error:
        raise UnusableTool("its schema is nested too deeply") from error
    return shown


def _with_visible_words(node: Any) -> Any:
    if isinstance(node, str):
        return visible(node, KEPT_IN_VALUES)
    if isinstance(node, list):
        return [_with_visible_words(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        _with_visible_words(key): visible(value)
        if key in WORDS and isinstance(value, str)
        else _with_visible_words(value)
        for key, value in node.items()
    }
