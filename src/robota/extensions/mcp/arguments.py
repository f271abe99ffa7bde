"""Checks the arguments of MCP calls superficially before the user is asked; the server validates them fully."""

import json
from collections.abc import Mapping
from typing import Any, Final

import msgspec

# Models without function calling write every value as text; these types are then parsed as JSON.
NOT_TEXT: Final = frozenset({"integer", "number", "boolean", "array", "object"})


class McpArguments(msgspec.Struct, frozen=True):
    """The arguments of a call to an MCP tool."""

    values: dict[str, Any]


def read_arguments(given: Mapping[str, Any], schema: Mapping[str, Any]) -> McpArguments:
    """Check for missing arguments, and for unknown ones if the schema forbids them; `msgspec.ValidationError`."""
    known = schema.get("properties", {})
    for name in schema.get("required", []):
        if name not in given:
            raise msgspec.ValidationError(f"Object missing required field `{name}`")
    if schema.get("additionalProperties") is False and not schema.get("patternProperties"):
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
