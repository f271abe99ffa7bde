"""JSON in and out: what a newer peer sends survives, what cannot be read is refused with words."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.protocol.codec import (
    COMMAND_TYPES,
    EVENT_TYPES,
    ProtocolError,
    decode_command,
    decode_event,
    decode_message,
    decode_messages,
    encode,
)
from robota.protocol.commands import AskResponse, NewTask, UnknownCommand
from robota.protocol.events import MessageCreated, OlderRows, SessionState, State, ToolEnd, UnknownEvent
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.schema import protocol_schema
from robota.protocol.views import TextView

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def test_a_message_of_the_seed_reads_and_writes_field_for_field() -> None:
    wire = {
        "ts": 1700000000000,
        "type": "ask",
        "ask": "tool",
        "text": "{}",
        "images": ["data:image/png;base64,AA=="],
        "partial": False,
        "conversationHistoryIndex": 3,
        "progressStatus": {"icon": "diff", "text": "1"},
        "isProtected": True,
        "apiProtocol": "anthropic",
        "isAnswered": True,
    }
    assert json.loads(encode(decode_message(json.dumps(wire)))) == wire


@given(st.dictionaries(st.text(max_size=12), json_values, max_size=5))
def test_unknown_fields_survive_a_round_trip(fields: dict[str, Any]) -> None:
    known = {"ts": 5, "type": "say", "say": "from_the_future", "text": "hi"}
    unknown = {f"x-{name}": value for name, value in fields.items()}
    message = {**unknown, **known}
    assert json.loads(encode(decode_message(json.dumps(message)))) == message
    event = {"type": "messageCreated", "taskId": "t", "message": message, **unknown}
    assert json.loads(encode(decode_event(json.dumps(event)))) == event
    state = {"sessionId": "s", "cwd": "/", "model": "m", "mode": "code", "permissionMode": "default"}
    whole = {"type": "state", "state": {**state, **unknown, "clineMessages": [message]}}
    assert json.loads(encode(decode_event(json.dumps(whole)))) == whole
    command = {"type": "newTask", "text": "go", **unknown}
    assert json.loads(encode(decode_command(json.dumps(command)))) == command


@given(json_values)
def test_an_event_of_an_unknown_kind_passes_through(value: Any) -> None:
    wire = {"type": "zork", "value": value}
    event = decode_event(json.dumps(wire))
    assert isinstance(event, UnknownEvent)
    assert json.loads(encode(event)) == wire


def test_numbers_of_other_languages_are_understood() -> None:
    assert decode_message('{"ts": 17.0, "type": "say"}').ts == 17


def test_a_view_of_an_unknown_kind_becomes_a_line_of_text() -> None:
    wire = {
        "type": "toolEnd",
        "taskId": "t",
        "callId": "c",
        "tool": "x",
        "label": "X",
        "firstArg": "",
        "status": "success",
        "view": {"kind": "hologram", "depth": 3},
    }
    event = decode_event(json.dumps(wire))
    assert isinstance(event, ToolEnd) and isinstance(event.view, TextView)
    assert "hologram" in event.view.text and event.view.extra == {"unknown": {"kind": "hologram", "depth": 3}}


def test_views_of_past_calls_are_read_likewise() -> None:
    known = {"callId": "c", "after": 1, "title": "X", "status": "success"}
    calls = [{**known, "view": {"kind": "hologram"}}, {**known, "view": {"kind": "text", "text": "t", "new": 1}}, known]
    event = decode_event(json.dumps({"type": "olderRows", "taskId": "t", "messages": [], "calls": calls}))
    assert isinstance(event, OlderRows) and len(event.calls) == 3 and event.calls[2].view is None
    assert isinstance(event.calls[0].view, TextView) and "hologram" in event.calls[0].view.text
    assert json.loads(encode(event))["calls"][1] == calls[1]
    state = {"sessionId": "s", "cwd": "/", "model": "m", "mode": "code", "permissionMode": "default", "calls": calls}
    told = decode_event(json.dumps({"type": "state", "state": state}))
    assert isinstance(told, State) and told.state.calls == event.calls


def test_commands_of_the_seed() -> None:
    answer = decode_command('{"type": "askResponse", "askResponse": "yesButtonClicked"}')
    assert answer == AskResponse(ask_response="yesButtonClicked")
    assert decode_command('{"type":"newTask","text":"Build a web app"}') == NewTask(text="Build a web app")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[1]", "object"),
        (b'{"ts": "soon", "type": "say"}', "ts"),
        (b'{"type": "say"}', "ts"),
        (b'{"ts": 1, "type": "say", "text": 7}', "text"),
    ],
)
def test_what_is_no_message_is_refused_with_the_reason(data: bytes, words: str) -> None:
    with pytest.raises(ProtocolError, match=words):
        decode_message(data)


def test_a_bad_message_in_a_list_is_named() -> None:
    with pytest.raises(ProtocolError, match="message 1"):
        decode_messages('[{"ts": 1, "type": "say"}, {"ts": 2}]')
    with pytest.raises(ProtocolError, match="array"):
        decode_messages("{}")


def test_an_unknown_command_is_refused_and_the_known_ones_are_named() -> None:
    unknown = decode_command('{"type": "selfDestruct", "requestId": "r1"}')
    assert isinstance(unknown, UnknownCommand) and unknown.request_id == "r1"
    assert "selfDestruct" in unknown.problem and "askResponse" in unknown.problem


@given(st.binary(max_size=20) | json_values.map(lambda value: json.dumps({"type": "newTask", "text": value}).encode()))
def test_whatever_a_client_sends_can_be_submitted(data: bytes) -> None:
    assert isinstance(decode_command(data), UnknownCommand | NewTask)


def test_the_rows_of_a_state_are_there_also_while_there_are_none() -> None:
    state = SessionState(session_id="s", cwd="/", model="m", mode="code", permission_mode=PermissionMode.DEFAULT)
    assert json.loads(encode(State(state=state)))["state"]["clineMessages"] == []


def test_the_schema_names_every_command_and_event() -> None:
    text = json.dumps(protocol_schema())
    for tag in [*COMMAND_TYPES, *EVENT_TYPES]:
        assert f'"{tag}"' in text
    assert "~extra" not in text
    for name in ("MessageCreated", "NewTask", "Message", "AgentStateInfo"):
        assert name in protocol_schema()["$defs"]


def test_events_hold_typed_values() -> None:
    event = decode_event('{"type":"messageCreated","taskId":"t","message":{"ts":1,"type":"say","say":"text"}}')
    assert isinstance(event, MessageCreated) and event.message.say == "text"
    assert State in EVENT_TYPES.values()
