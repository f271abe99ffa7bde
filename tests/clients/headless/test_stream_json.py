"""`stream-json`: the lines that scripts written for this format read."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from robota.protocol.conversation import ImageSource, ToolResultBlock, ToolUseBlock
from robota.protocol.events import ContextReduced, Notice, RetryScheduled, ToolCallDelta
from robota.version import VERSION
from tests.clients.headless.headless_run import run_steps
from tests.clients.stories import READ, READ_RESULT, TASK, Story, state

USAGE = {
    "input_tokens": 10,
    "output_tokens": 5,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 3,
}


def named(line: dict[str, Any]) -> str:
    return f"{line['type']}/{line['subtype']}" if "subtype" in line else str(line["type"])


def without_uuid(line: dict[str, Any]) -> dict[str, Any]:
    assert len(line["uuid"]) == 36
    return {key: value for key, value in line.items() if key != "uuid"}


def raw_events(steps: Any) -> list[dict[str, Any]]:
    lines = run_steps(steps, "stream-json", partials=True).lines
    return [line["event"] for line in lines if line["type"] == "stream_event"]


def outline(events: list[dict[str, Any]]) -> list[str]:
    """Each event in a few words: its type, its index, what it brings."""
    words = []
    for event in events:
        detail = event.get("delta", {}) | event.get("content_block", {})
        index = [str(event["index"])] if "index" in event else []
        piece = detail.get("text") or detail.get("thinking") or detail.get("partial_json") or detail.get("type") or ""
        words.append(" ".join([event["type"], *index, piece]).strip())
    return words


def test_a_run_with_a_tool_gives_its_lines_in_order_with_every_field() -> None:
    steps = Story().reply("Reading.", thought="hm", calls=(READ,)).run(READ).results(READ_RESULT).done().steps
    ran = run_steps(steps, "stream-json")
    assert [named(line) for line in ran.lines] == ["system/init", "assistant", "user", "assistant", "result/success"]
    init, assistant, user, _, result = ran.lines
    assert without_uuid(init) == {
        "type": "system",
        "subtype": "init",
        "session_id": "session-1",
        "cwd": "/repo",
        "model": "model-x",
        "tools": ["read_file", "execute_command"],
        "mcp_servers": [],
        "permissionMode": "default",
        "slash_commands": [],
        "agents": [],
        "skills": [],
        "plugins": [],
        "output_style": "default",
        "apiKeySource": "none",
        "claude_code_version": f"robota {VERSION}",
    }
    assert without_uuid(assistant) == {
        "type": "assistant",
        "session_id": "session-1",
        "parent_tool_use_id": None,
        "message": {
            "id": "reply-1",
            "type": "message",
            "role": "assistant",
            "model": "model-x",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": ""},
                {"type": "text", "text": "Reading."},
                {"type": "tool_use", "id": "call-1", "name": "read_file", "input": {"path": "a"}},
            ],
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "usage": USAGE,
        },
    }
    assert without_uuid(user) == {
        "type": "user",
        "session_id": "session-1",
        "parent_tool_use_id": None,
        "message": {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "call-1", "content": "contents of a", "is_error": False}
            ],
        },
    }
    assert (result["result"], result["num_turns"]) == ("the answer", 2)


def test_images_of_a_tool_come_as_blocks() -> None:
    picture = ImageSource(media_type="image/png", data="AAAA")
    result = ToolResultBlock(tool_use_id="call-1", content="a picture", images=(picture,))
    steps = Story().reply(calls=(READ,)).results(result).done().steps
    user = next(line for line in run_steps(steps, "stream-json").lines if line["type"] == "user")
    assert user["message"]["content"][0]["content"] == [
        {"type": "text", "text": "a picture"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
    ]


def test_retries_denials_and_notices_are_system_lines() -> None:
    retry = RetryScheduled(task_id=TASK, attempt=1, max_retries=5, delay_ms=250, error="rate_limit", error_status=429)
    story = Story().add(retry, Notice(level="warning", text="The log was repaired."))
    story.reply(calls=(READ,)).run(READ, status="denied", reason="needs approval")
    ran = run_steps(story.done().steps, "stream-json")
    lines = {named(line): without_uuid(line) for line in ran.lines}
    common = {"type": "system", "session_id": "session-1"}
    assert lines["system/api_retry"] == {
        **common,
        "subtype": "api_retry",
        "attempt": 1,
        "max_retries": 5,
        "retry_delay_ms": 250,
        "error_status": 429,
        "error": "rate_limit",
    }
    assert lines["system/permission_denied"] == {
        **common,
        "subtype": "permission_denied",
        "tool_name": "read_file",
        "tool_use_id": "call-1",
        "decision_reason": "needs approval",
        "message": "Read was not allowed: needs approval",
    }
    assert lines["system/informational"] == {
        **common,
        "subtype": "informational",
        "content": "The log was repaired.",
        "level": "warning",
    }


def test_a_shorter_conversation_is_a_system_line() -> None:
    def reduced(how: str, trigger: str) -> ContextReduced:
        return ContextReduced(task_id=TASK, how=how, trigger=trigger, prev_context_tokens=900, new_context_tokens=100)

    story = Story().add(reduced("condensed", "manual"), reduced("truncated", "auto"))
    ran = run_steps(story.done().steps, "stream-json")
    lines = {named(line): line for line in ran.lines}
    assert lines["system/compact_boundary"]["compact_metadata"] == {"trigger": "manual", "pre_tokens": 900}
    assert "left out" in lines["system/informational"]["content"]


def test_a_second_state_does_not_begin_the_stream_again() -> None:
    ran = run_steps(Story().add(state()).done().steps, "stream-json")
    assert [named(line) for line in ran.lines].count("system/init") == 1


def test_a_reply_streams_as_raw_events_in_valid_order() -> None:
    steps = Story().reply("Read", "ing.", thought="hm", calls=(READ,)).ask("resume_task").steps
    ran = run_steps(steps, "stream-json", partials=True)
    events = [line["event"] for line in ran.lines if line["type"] == "stream_event"]
    assert outline(events) == [
        "message_start",
        "content_block_start 0 thinking",
        "content_block_delta 0 hm",
        "content_block_stop 0",
        "content_block_start 1 text",
        "content_block_delta 1 Read",
        "content_block_delta 1 ing.",
        "content_block_stop 1",
        "content_block_start 2 tool_use",
        'content_block_delta 2 {"path":"a"}',
        "content_block_stop 2",
        "message_delta",
        "message_stop",
    ]
    assert events[8]["content_block"] == {"type": "tool_use", "id": "call-1", "name": "read_file", "input": {}}
    assert events[-2]["delta"]["stop_reason"] == "tool_use"
    assert events[-2]["usage"] == USAGE
    assistant = next(line for line in ran.lines if line["type"] == "assistant")
    assert assistant["message"]["id"] == events[0]["message"]["id"]


def test_a_reply_cut_in_the_middle_is_closed_before_the_next_one_begins() -> None:
    story = Story()
    story.begin_request()
    story.stream("text", "The ans", interrupted=True)
    events = raw_events(story.done("The answer.").steps)
    assert outline(events) == [
        "message_start",
        "content_block_start 0 text",
        "content_block_delta 0 The ans",
        "content_block_stop 0",
        "message_delta",
        "message_stop",
        "message_start",
        "content_block_start 0 text",
        "content_block_delta 0 The answer.",
        "content_block_stop 0",
        "message_delta",
        "message_stop",
    ]
    assert [event["delta"]["stop_reason"] for event in events if event["type"] == "message_delta"] == [None, "end_turn"]


def test_a_call_cut_in_the_middle_is_closed_when_the_run_ends() -> None:
    story = Story()
    story.begin_request()
    story.write_call(READ)
    assert outline(raw_events(story.ask("resume_task").steps))[-3:] == [
        "content_block_stop 0",
        "message_delta",
        "message_stop",
    ]


def test_a_call_cut_in_the_middle_is_closed_before_the_next_request() -> None:
    story = Story()
    story.begin_request()
    events = raw_events(story.write_call(READ).reply(calls=(READ,)).ask("resume_task").steps)
    check_order(events)
    assert [event["type"] for event in events].count("message_start") == 2


def test_text_that_the_deltas_left_out_is_sent_when_the_row_is_whole() -> None:
    story = Story()
    request = story.begin_request()
    ts = story.stream("text", "The ans", is_open=True)
    story.change(ts, type="say", say="text", text="The answer.", partial=False)
    events = raw_events(story.end_request(request, "The answer.").ask("completion_result").steps)
    assert "content_block_delta 0 wer." in outline(events)


def test_a_request_that_fails_before_any_content_leaves_no_message() -> None:
    story = Story()
    story.begin_request()
    assert raw_events(story.ask("api_req_failed").steps) == []


PIECES = st.lists(st.text(st.characters(exclude_categories=())), max_size=4)
INTERLEAVED = st.lists(
    st.tuples(st.sampled_from(["text", "reasoning", "call-1", "call-2"]), st.text(min_size=1, max_size=3)), max_size=12
)


@settings(max_examples=60)
@given(PIECES, st.text(st.characters(exclude_categories=())), st.booleans())
def test_whatever_text_comes_each_line_is_one_object_and_the_last_is_the_result(
    pieces: list[str], content: str, partials: bool
) -> None:
    call = ToolUseBlock(id="call-1", name="read_file", input={content: [content]})
    result = ToolResultBlock(tool_use_id="call-1", content=content)
    story = Story().reply(*pieces, calls=(call,)).run(call, "denied", content).results(result)
    ran = run_steps(story.done(content).steps, "stream-json", partials=partials)
    assert all(isinstance(line, dict) for line in ran.lines)
    assert ran.result["type"] == "result"
    assert ran.result["is_error"] is not bool(content.strip())


@settings(max_examples=60)
@given(INTERLEAVED)
def test_blocks_never_overlap_however_the_deltas_are_mixed(deltas: list[tuple[str, str]]) -> None:
    story = Story()
    request = story.begin_request()
    rows = {kind: story.stream(kind, is_open=True) for kind in ("text", "reasoning")}
    for target, piece in deltas:
        if target in rows:
            story.add_delta(target, rows[target], piece)
        else:
            story.add(ToolCallDelta(task_id=TASK, call_id=target, tool="read_file", delta=piece))
    events = raw_events(story.end_request(request, "x").ask("resume_task").steps)
    check_order(events)
    started = [event["content_block"]["id"] for event in events if "id" in event.get("content_block", {})]
    assert len(started) == len(set(started))
    sent = "".join(event["delta"].get("text", "") for event in events if event["type"] == "content_block_delta")
    assert sent == "".join(piece for target, piece in deltas if target == "text")


def check_order(events: list[dict[str, Any]]) -> None:
    """The grammar of the Messages API: a message of blocks with rising indexes, one open at a time."""
    open_index, next_index, in_message = None, 0, False
    for event in events:
        match event["type"]:
            case "message_start":
                assert not in_message
                in_message, next_index = True, 0
            case "content_block_start":
                assert in_message
                assert open_index is None
                assert event["index"] == next_index
                open_index, next_index = next_index, next_index + 1
            case "content_block_delta":
                assert event["index"] == open_index
            case "content_block_stop":
                assert event["index"] == open_index
                open_index = None
            case "message_stop":
                assert open_index is None
                in_message = False
    assert not in_message
