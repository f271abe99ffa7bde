"""The state of an agent, computed from its messages, and the incremental tracker that must agree with it."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robota.protocol.asks.kinds import (
    IDLE_ASKS,
    INTERACTIVE_ASKS,
    KNOWN_ASKS,
    NON_BLOCKING_ASKS,
    RESUMABLE_ASKS,
    is_non_blocking_ask,
)
from robota.protocol.message import Message
from robota.protocol.state import AgentState, RequiredAction, StateTracker, detect_agent_state

REQUEST = "api_req_started"


def ask(kind: str | None, ts: int = 9, **fields: Any) -> Message:
    return Message(ts=ts, type="ask", ask=kind, **fields)


def say(kind: str | None, ts: int = 9, **fields: Any) -> Message:
    return Message(ts=ts, type="say", say=kind, **fields)


def test_the_four_categories_are_disjoint_and_cover_all_asks() -> None:
    categories = [INTERACTIVE_ASKS, IDLE_ASKS, RESUMABLE_ASKS, NON_BLOCKING_ASKS]
    assert sum(map(len, categories)) == len(KNOWN_ASKS) == 12
    assert frozenset().union(*categories) == KNOWN_ASKS
    assert [kind for kind in (*sorted(KNOWN_ASKS), "zork", None) if is_non_blocking_ask(kind)] == ["command_output"]


def test_no_messages_is_no_task() -> None:
    info = detect_agent_state([])
    assert (info.state, info.required_action) == (AgentState.NO_TASK, RequiredAction.START_NEW_TASK)
    assert not info.is_running and not info.is_waiting_for_input and info.current_ask is None


@pytest.mark.parametrize(
    ("kind", "state", "action"),
    [
        ("followup", "waiting_for_input", "answer"),
        ("command", "waiting_for_input", "approve"),
        ("tool", "waiting_for_input", "approve"),
        ("use_mcp_server", "waiting_for_input", "approve"),
        ("browser_action_launch", "waiting_for_input", "approve"),
        ("completion_result", "idle", "start_task"),
        ("api_req_failed", "idle", "retry_or_new_task"),
        ("resume_completed_task", "idle", "start_new_task"),
        ("mistake_limit_reached", "idle", "proceed_or_new_task"),
        ("auto_approval_max_req_reached", "idle", "proceed_or_new_task"),
        ("resume_task", "resumable", "resume_or_abandon"),
        ("command_output", "running", "continue_or_abort"),
    ],
)
def test_an_ask_at_the_end_decides(kind: str, state: str, action: str) -> None:
    running = say(REQUEST, ts=1, text="{}")  # an unfinished request before it does not matter
    for last in (ask(kind), ask(kind, text=""), ask(kind, partial=False)):
        info = detect_agent_state([running, last])
        assert (info.state, info.required_action, info.current_ask) == (state, action, kind)
        assert info.is_waiting_for_input is (state != "running")
    assert detect_agent_state([ask(kind, partial=True)]).state is AgentState.STREAMING


@pytest.mark.parametrize(
    ("text", "state"),
    [
        (None, "streaming"),
        ("", "streaming"),
        ("{}", "streaming"),
        ('{"tokensIn": 3}', "streaming"),
        ('{"cost": 0}', "running"),
        ('{"cost": 0.25}', "running"),
        ('{"cost": null}', "running"),
        ("not json", "running"),
        ("[" * 100_000, "running"),
    ],
)
def test_the_newest_request_decides_for_says_and_unknown_asks(text: str | None, state: str) -> None:
    older = say(REQUEST, ts=1, text='{"cost": 1}')
    request = say(REQUEST, ts=2, text=text)
    for last in (say("text", text="hi"), say("from_the_future"), ask("zork"), ask(None), Message(ts=9, type="hint")):
        assert detect_agent_state([older, request, last]).state == state
    assert detect_agent_state([older, request]).state == state


def test_partial_then_complete_flips_from_streaming_to_waiting() -> None:
    assert detect_agent_state([ask("tool", partial=True)]).is_streaming
    assert detect_agent_state([ask("tool", partial=False)]).is_waiting_for_input


KINDS = [None, "zork", *sorted(KNOWN_ASKS), REQUEST, "text", "reasoning"]
TEXTS = [None, "", "{}", '{"cost":0}', '{"cost":null}', "nope", "[]", "5", '{"cost":1,"a":2}']
# Every mixture that matters, made once: drawing each field by itself took ten times as long.
ROWS = [
    Message(ts=ts, type=kind, ask=name, say=name, text=text, partial=partial)
    for ts in range(6)
    for kind in ("ask", "say", "hint")
    for name in KINDS
    for text in TEXTS
    for partial in (None, True, False)
]
messages = st.sampled_from(ROWS)
operations = st.lists(st.tuples(st.sampled_from(["created", "updated", "replaced"]), messages), max_size=25)


@settings(max_examples=1_000, deadline=None)
@given(operations)
def test_the_tracker_equals_the_pure_function(steps: list[tuple[str, Message]]) -> None:
    tracker = StateTracker()
    model: list[Message] = []
    for step, message in steps:
        if step == "replaced":
            model = model[len(model) // 2 :]
            tracker.replace(model)
        elif step == "created":
            model.append(message)
            tracker.created(message)
        else:
            places = [place for place, row in enumerate(model) if row.ts == message.ts]
            if places:
                model[places[-1]] = message
            else:
                model.append(message)
            tracker.updated(message)
        assert list(tracker.messages) == model
        assert tracker.info == detect_agent_state(model)
