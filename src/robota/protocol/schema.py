"""The JSON Schema of the protocol, for authors of other clients."""

from typing import Any

import msgspec

from robota.protocol.asks.buttons import AskControls
from robota.protocol.codec import EXTRA
from robota.protocol.commands import KnownCommand, Receipt
from robota.protocol.connection.lines import ConnectionRequest, ServerLine
from robota.protocol.events import Event
from robota.protocol.message import Message
from robota.protocol.state import AgentStateInfo


def protocol_schema() -> dict[str, Any]:
    """One schema with a definition for every message, command and event, and for the lines of a connection.

    `line` is everything that a session sends over a connection, `request` everything that a client may send.
    """
    roots, components = msgspec.json.schema_components(
        [Message, KnownCommand, Receipt, Event, AgentStateInfo, AskControls, ServerLine, ConnectionRequest],
        ref_template="#/$defs/{name}",
    )
    names = ["message", "command", "receipt", "event", "agentState", "askControls", "greeting", "connectionRequest"]
    shapes = dict(zip(names, roots, strict=True))
    shapes["line"] = {"anyOf": [shapes["greeting"], shapes["receipt"], shapes["event"]]}
    shapes["request"] = {"anyOf": [shapes["connectionRequest"], shapes["command"]]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Robota protocol",
        "description": "Fields and values not listed here must be kept and tolerated.",
        "properties": shapes,
        "$defs": {name: _without_extra(shape) for name, shape in sorted(components.items())},
    }


def _without_extra(shape: dict[str, Any]) -> dict[str, Any]:
    properties = {key: value for key, value in shape.get("properties", {}).items() if key != EXTRA}
    return {**shape, "properties": properties} if "properties" in shape else shape
