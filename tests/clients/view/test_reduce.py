"""The view says what the messages say, whatever comes and wherever one looks."""

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from robota.clients.view.model import PAGE_CHARS, StreamedText, ViewModel
from robota.clients.view.reduce import NOTICES_KEPT, OUTPUT_TAIL_CHARS, reduce
from robota.clients.view.rows import PAGE_SIZE, MessageRows, rows_of
from robota.protocol.asks.kinds import KNOWN_ASKS
from robota.protocol.calls import BackgroundStatus, BackgroundTask, CallPurpose
from robota.protocol.events import (
    BackgroundTasks,
    Event,
    MessageCreated,
    MessageUpdated,
    Notice,
    PartialMessage,
    QueuedMessagesUpdated,
    RetryScheduled,
    Sandbox,
    State,
    TaskAskResponded,
    TaskModeSwitched,
    TaskTokenUsageUpdated,
    TextDelta,
    Thinking,
    TodosUpdated,
    TokenUsage,
    ToolCallDelta,
    ToolStart,
    UnknownEvent,
)
from robota.protocol.message import Message, QueuedMessage, TodoItem
from robota.protocol.state import RequiredAction, StateTracker
from tests.clients.stories import READ, READ_RESULT, TASK, Story, state

TIMESTAMPS = st.integers(1, 4)
MESSAGES = st.builds(
    Message,
    ts=TIMESTAMPS,
    type=st.sampled_from(["ask", "say"]),
    ask=st.sampled_from([None, *sorted(KNOWN_ASKS), "new_kind"]),
    say=st.sampled_from([None, "text", "api_req_started", "command_output"]),
    text=st.sampled_from([None, "", '{"cost":0}', "{}", "words"]),
    partial=st.sampled_from([None, True, False]),
    call_id=st.sampled_from([None, "call-1"]),
)
ROW_EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(MessageCreated, task_id=st.just(TASK), message=MESSAGES),
    st.builds(MessageUpdated, task_id=st.just(TASK), message=MESSAGES),
    st.builds(lambda rows: state(*rows), st.lists(MESSAGES, max_size=3)),
)
OTHER_EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(TextDelta, task_id=st.just(TASK), ts=TIMESTAMPS, delta=st.text(max_size=3)),
    st.builds(PartialMessage, task_id=st.just(TASK), ts=TIMESTAMPS, delta=st.text(max_size=3)),
    st.builds(Thinking, task_id=st.just(TASK), is_thinking=st.booleans()),
    st.builds(UnknownEvent, data=st.just({"type": "tomorrow"})),
)


def view_of(events: list[Event]) -> ViewModel:
    view = ViewModel()
    for event in events:
        view = reduce(view, event)
    return view


@settings(max_examples=300)
@given(st.lists(st.one_of(ROW_EVENTS, OTHER_EVENTS), max_size=60))
def test_rows_and_state_equal_those_of_the_state_tracker_at_every_step(events: list[Event]) -> None:
    view, tracker = ViewModel(), StateTracker()
    for event in events:
        view = reduce(view, event)
        match event:
            case State():
                tracker.replace(event.state.cline_messages)
            case MessageCreated():
                tracker.created(event.message)
            case MessageUpdated():
                tracker.updated(event.message)
        assert list(view.rows) == list(tracker.messages)
        assert view.agent == tracker.info


def test_a_request_row_that_becomes_something_else_no_longer_counts_as_running() -> None:
    story = Story()
    request = story.begin_request()
    assert view_of(story.events).agent.is_streaming
    story.change(request, type="say", say="api_req_deleted")
    assert not view_of(story.events).agent.is_streaming


@given(st.data())
def test_any_part_of_a_run_can_be_replayed(data: st.DataObject) -> None:
    story = Story().reply("a", "b", thought="hm", calls=(READ,)).run(READ).results(READ_RESULT).done()
    events = story.events
    start = data.draw(st.integers(0, len(events)))
    end = data.draw(st.integers(start, len(events)))
    view = view_of(events[start:end])
    assert all(isinstance(view.text_of(row), str) for row in view.rows)


@given(st.lists(st.integers(0, 3 * PAGE_SIZE), max_size=20), st.integers(1, 3 * PAGE_SIZE + 1))
def test_rows_behave_like_a_list(changes: list[int], length: int) -> None:
    rows = MessageRows()
    expected: list[Message] = []
    for ts in range(length):
        message = Message(ts=ts, type="say")
        rows = rows.appended(message)
        expected.append(message)
    for place in changes:
        if place < length:
            changed = Message(ts=place, type="say", text="changed")
            rows = rows.replaced(place, changed)
            expected[place] = changed
    assert list(rows) == expected
    assert list(reversed(rows)) == expected[::-1]
    assert rows == rows_of(expected)
    assert [rows[place] for place in range(-length, length)] == expected + expected
    assert all(rows.index_of(ts) == ts for ts in range(length))


def test_a_delta_leaves_the_rows_alone_and_copies_no_page_of_text() -> None:
    story = Story()
    ts = story.stream("text", "x" * PAGE_CHARS, "y", is_open=True)
    before = view_of(story.events)
    after = reduce(before, TextDelta(task_id=TASK, ts=ts, delta="z"))
    assert after.rows is before.rows
    assert after.streams[ts].pages[0] is before.streams[ts].pages[0]
    assert after.text_of(after.rows[-1]) == "x" * PAGE_CHARS + "yz"
    assert before.text_of(before.rows[-1]) == "x" * PAGE_CHARS + "y"


@given(st.lists(st.text(max_size=PAGE_CHARS)))
def test_streamed_text_is_the_sum_of_its_pieces(pieces: list[str]) -> None:
    text = StreamedText()
    for piece in pieces:
        text = text.plus(piece)
    assert str(text) == "".join(pieces)


def test_a_finished_row_holds_its_text_once() -> None:
    view = view_of(Story().reply("Hello ", "there").events)
    answer = next(row for row in reversed(view.rows) if row.say == "text")
    assert view.text_of(answer) == "Hello there"


def test_a_delta_for_a_finished_or_unknown_row_changes_nothing() -> None:
    story = Story()
    ts = story.stream("text", "whole")
    view = view_of(story.events)
    assert reduce(view, TextDelta(task_id=TASK, ts=ts, delta="late")) is view
    assert reduce(view, PartialMessage(task_id=TASK, ts=999, delta="lost")) is view


def test_a_call_is_shown_while_it_is_written_while_it_runs_and_when_it_ended() -> None:
    story = Story()
    story.begin_request()
    story.write_call(READ).add(ToolCallDelta(task_id=TASK, call_id="call-1", tool="read_file", first_arg="a", delta=""))
    written = view_of(story.events).writing["call-1"]
    assert (written.tool, written.first_arg, str(written.arguments)) == ("read_file", "a", '{"path":"a"}')

    story.start(READ)
    running = view_of(story.events)
    assert running.writing == {}
    assert (running.tools["call-1"].status, running.tools["call-1"].label) == ("running", "Read")

    story.run(READ, status="denied", reason="not in this mode")
    ended = view_of(story.events).tools["call-1"]
    assert (ended.status, ended.reason, ended.duration_ms) == ("denied", "not in this mode", 7)

    story.begin_request()
    assert view_of(story.events).tools == {}


def test_a_running_command_shows_the_end_of_its_output() -> None:
    story = Story().start(READ)
    ts = story.row(type="say", say="command_output", text="", partial=True, call_id="call-1")
    for piece in ("first\n", "x" * OUTPUT_TAIL_CHARS, "last"):
        story.add(PartialMessage(task_id=TASK, ts=ts, delta=piece))
    output = view_of(story.events).tools["call-1"].output
    assert len(output) == OUTPUT_TAIL_CHARS
    assert output.endswith("xlast")


def test_an_ask_is_pending_until_somebody_answers_it() -> None:
    story = Story().ask("command", "rm -rf build")
    pending = view_of(story.events).pending_ask
    assert pending is not None
    assert (pending.message.text, pending.required_action) == ("rm -rf build", RequiredAction.APPROVE)
    story.add(TaskAskResponded(task_id=TASK, ts=pending.message.ts, response="yesButtonClicked"))
    assert view_of(story.events).pending_ask is None


def test_a_retry_counts_down_until_the_next_request() -> None:
    retry = RetryScheduled(task_id=TASK, attempt=1, max_retries=5, delay_ms=2000, error="rate_limit")
    story = Story().add(retry)
    assert view_of(story.events).retry == retry
    story.begin_request()
    assert view_of(story.events).retry is None


def test_totals_queue_todos_mode_and_notices_are_kept() -> None:
    queue = (QueuedMessage(id="q", timestamp=1, text="and then?"),)
    todos = (TodoItem(content="look", status="pending"),)
    story = Story().add(
        TaskTokenUsageUpdated(task_id=TASK, token_usage=TokenUsage(total_cost=1.5)),
        QueuedMessagesUpdated(task_id=TASK, queue=queue),
        TodosUpdated(task_id=TASK, todos=todos),
        TaskModeSwitched(task_id=TASK, mode="plan"),
        *(Notice(level="info", text=str(number)) for number in range(NOTICES_KEPT + 1)),
        Sandbox(kind="landlock", reason="bubblewrap is not installed"),
    )
    view = view_of(story.events)
    assert (view.usage.total_cost, view.queue, view.todos) == (1.5, queue, todos)
    assert view.session is not None
    assert (view.session.mode, view.session.sandbox) == ("plan", "landlock")
    assert [notice.text for notice in view.notices] == [str(number) for number in range(1, NOTICES_KEPT + 1)]


def test_the_state_of_another_task_starts_a_new_view() -> None:
    view = view_of(Story().reply("answer", calls=(READ,)).start(READ).events)
    fresh = reduce(view, State(state=replace(state().state, current_task_id="task-2")))
    assert (len(fresh.rows), fresh.tools, fresh.usage) == (0, {}, TokenUsage())


def test_what_belongs_to_the_session_and_the_call_of_a_subtask_stay_while_another_task_is_shown() -> None:
    running = BackgroundTask(id="bg1", command="serve", status=BackgroundStatus.RUNNING)
    waits = ToolStart(
        task_id=TASK, call_id="c", tool="t", label="t", first_arg="", input={}, purpose=CallPurpose.SUBTASK
    )
    story = Story().reply("answer", calls=(READ,)).start(READ)
    story.add(BackgroundTasks(tasks=(running,)), Sandbox(kind="bubblewrap", keeps_out="the network"), waits)
    view = view_of(story.events)
    fresh = reduce(view, State(state=replace(state().state, current_task_id="task-2")))
    assert (fresh.background, fresh.kept_out, list(fresh.tools)) == ((running,), "the network", ["c"])
