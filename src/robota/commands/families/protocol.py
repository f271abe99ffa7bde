"""The verbs for authors of clients."""

import sys
from typing import Final

import msgspec

from robota.commands.verb import Answer, Family, NoArguments, ShellVerb, VerbFailed, json_text, raw
from robota.commands.verb_host import VerbHost
from robota.protocol.asks.buttons import controls_at
from robota.protocol.codec import ProtocolError, decode_messages, encode
from robota.protocol.schema import protocol_schema
from robota.protocol.state import detect_agent_state

FOR_PROGRAMS: Final = "it is for programs that show a session"


def _state(host: VerbHost, _: NoArguments) -> Answer:
    try:
        messages = decode_messages(sys.stdin.buffer.read())
    except ProtocolError as error:
        raise VerbFailed(f"cannot read the messages: {error}") from error
    controls = controls_at(messages[-1] if messages else None)
    state = {**msgspec.to_builtins(detect_agent_state(messages)), "controls": msgspec.to_builtins(controls)}
    return raw(encode(state).decode(), state)


def _schema(host: VerbHost, _: NoArguments) -> Answer:
    schema = protocol_schema()
    return raw(json_text(schema), schema)


FAMILY: Final = Family(
    name="protocol",
    about="Tools for authors of clients.",
    verbs=(
        ShellVerb(
            "state",
            "read a JSON array of messages on stdin, print the agent's state as JSON",
            NoArguments,
            _state,
            reason=FOR_PROGRAMS,
        ),
        ShellVerb(
            "schema",
            "print the JSON Schema of messages, commands and events",
            NoArguments,
            _schema,
            reason=FOR_PROGRAMS,
        ),
    ),
)
