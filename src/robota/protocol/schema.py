"""The JSON Schema of the protocol, for authors of other clients."""

from typing import Any

import msgspec

from robota.protocol.codec import EXTRA
from robota.protocol.commands import KnownCommand, Receipt
from robota.protocol.events import Event
from robota.protocol.message import Message
from robota.protocol.state import AgentStateInfo


def protocol_schema() -> dict[str, Any]:
    """One schema with a definition for every message, command and event."""
    roots, components = msgspec.json.schema_components(
        [Message, KnownCommand, Receipt, Event, AgentStateInfo], ref_template="#/$defs/{name}"
    )
    names = ["message", "command", "receipt", "event", "agentState"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Robota protocol",
        "description": "Fields and values not listed here must be kept and tolerated.",
        "properties": dict(zip(names, roots, strict=True)),
        "$defs": {name: _without_extra(shape) for name, shape in sorted(components.items())},
    }


def _without_extra(shape: dict[str, Any]) -> dict[str, Any]:
    properties = {key: value for key, value in shape.get("properties", {}).items() if key != EXTRA}
    return {**shape, "properties": properties} if "properties" in shape else shape
