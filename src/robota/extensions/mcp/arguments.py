"""The arguments of a call, looked at lightly before anybody is asked: the server checks them all again."""

import json
from collections.abc import Mapping
from typing import Any, Final

import msgspec

# A model without function calling writes every value as text.
NOT_TEXT: Final = frozenset({"integer", "number", "boolean", "array", "object"})


class McpArguments(msgspec.Struct, frozen=True):
    """The arguments of a call to an MCP tool, checked against its schema."""

    values: dict[str, Any]


def read_arguments(given: Mapping[str, Any], schema: Mapping[str, Any]) -> McpArguments:
    """The arguments, or `msgspec.ValidationError` if one is missing, or is one that the tool does not have."""
    known = schema.get("properties", {})
    for name in schema.get("required", []):
        if name not in given:
            raise msgspec.ValidationError(f"Object missing required field `{name}`")
    takes_more = bool(schema.get("additionalProperties") or schema.get("patternProperties"))
    if known and not takes_more:
        for name in given:
            if name not in known:
                raise msgspec.ValidationError(f"Object contains unknown field `{name}`")
    return McpArguments({name: _as_declared(value, known.get(name)) for name, value in given.items()})


def _as_declared(value: Any, declared: Any) -> Any:
    kind = declared.get("type") if isinstance(declared, dict) else None
    if not isinstance(value, str) or not isinstance(kind, str) or kind not in NOT_TEXT:
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
