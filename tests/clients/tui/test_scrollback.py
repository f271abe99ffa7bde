"""What is printed for good, and what is kept of it for whoever wants to see all."""

from msgspec.structs import replace

from robota.clients.tui.colours import ColourDepth
from robota.clients.tui.scrollback import EARLIER, MAX_BLOCKS, Scrollback
from robota.clients.tui.theme import Palette, Role, Theme
from robota.protocol.calls import CallPurpose
from robota.protocol.events import (
    ContextReduced,
    ContextUpdate,
    Event,
    MessageCreated,
    RetryScheduled,
    State,
    TaskModeSwitched,
    TaskSpawned,
    ToolEnd,
    ToolStart,
)
from robota.protocol.message import Message
from tests.clients.stories import TASK, state

SUBTASK = "task-2"


def scrollback() -> Scrollback:
    return Scrollback(Theme(Palette(codes={}, depth=ColourDepth.NONE)), lambda: 80)


def printed_of(*events: Event) -> list[str]:
    """The rows that these events leave, as the conversation takes them; without gaps."""
    printed = Scrollback(Theme(Palette(codes={}, depth=ColourDepth.NONE)), lambda: 40)
    for event in events:
        printed.take(event)
    return [row for row in printed.take_rows() if row]


def said(ts: int, text: str, task_id: str = TASK, *, interrupted: bool = False) -> MessageCreated:
    message = Message(ts=ts, type="say", say="text", text=text, interrupted=interrupted or None)
    return MessageCreated(task_id=task_id, message=message)


def started(call_id: str, title: str, purpose: CallPurpose = CallPurpose.WORK) -> ToolStart:
    return ToolStart(
        task_id=TASK, call_id=call_id, tool="t", label="t", first_arg="x", input={}, title=title, purpose=purpose
    )


def ended(call_id: str, task_id: str = TASK) -> ToolEnd:
    return ToolEnd(task_id=task_id, call_id=call_id, tool="t", label="t", first_arg="x", status="success")


def test_whoever_wants_to_see_all_is_told_where_the_rest_is() -> None:
    printed = scrollback()
    for number in range(MAX_BLOCKS):
        printed.tell(f"sentence {number}", Role.DIM)
    assert printed.full_rows()[:2] == ["", "sentence 0"]
    printed.tell("one more", Role.DIM)
    assert printed.full_rows()[:3] == [EARLIER, "", "sentence 1"] and printed.full_rows()[-1] == "one more"


def test_of_a_long_prompt_the_beginning_and_the_end_are_printed_and_all_is_kept() -> None:
    printed = scrollback()
    printed.show_prompt("\n".join(f"line {number}" for number in range(100)))
    rows = printed.take_rows()
    assert rows[1] == "> line 0" and rows[-1] == "  line 99" and len(rows) == 20
    assert rows[13] == "  ... +82 lines (Ctrl+O shows all)"
    assert len(printed.full_rows()) == 101


def test_what_a_subtask_says_is_indented_and_its_call_keeps_its_title() -> None:
    of_subtask = State(state=replace(state().state, current_task_id=SUBTASK))
    of_parent = State(state=replace(state().state, current_task_id=TASK))
    rows = printed_of(
        of_parent,
        said(1, "do it"),
        started("c", "Subtask look", CallPurpose.SUBTASK),
        TaskSpawned(task_id=TASK, child_task_id=SUBTASK),
        of_subtask,
        said(2, "look\nwell", SUBTASK),
        said(3, f"{'word ' * 9}end", SUBTASK),
        of_parent,
        ended("c"),
        said(4, "Done."),
    )
    assert rows == [
        "> do it",
        "Subtask: look",
        "  well",
        "  word word word word word word word",
        "  word word end",
        "■ Subtask look",
        "Done.",
    ]


def test_an_answer_that_broke_off_is_followed_by_why_another_one_comes() -> None:
    retry = RetryScheduled(task_id=TASK, attempt=1, max_retries=2, delay_ms=1, error="stream_cut")
    asked, cut = said(1, "do it"), said(2, "Half", interrupted=True)
    why = "The connection broke, so the answer is requested again."
    assert why in " ".join(row.strip() for row in printed_of(asked, cut, retry))
    overloaded = replace(retry, error="overloaded")
    assert printed_of(asked, cut, overloaded) == ["> do it", "Half", "(interrupted)"]


def test_a_switch_of_the_mode_is_printed_once() -> None:
    asked, switched = said(1, "do it"), TaskModeSwitched(task_id=TASK, mode="architect")
    assert printed_of(asked, switched)[1:] == ["Task mode: architect"]
    assert printed_of(asked, started("c", "Mode architect"), switched, ended("c"))[1:] == ["■ Mode architect"]


def test_a_shorter_conversation_is_told_in_tokens_and_in_shares_of_the_window() -> None:
    window = ContextUpdate(task_id=TASK, used_tokens=850, max_tokens=1000, used_percentage=85.0)
    reduced = ContextReduced(
        task_id=TASK, how="condensed", trigger="auto", prev_context_tokens=850, new_context_tokens=320
    )
    told = " ".join(row.strip() for row in printed_of(said(1, "do it"), window, reduced)[1:])
    assert told == "conversation condensed: 850 to 320 tokens (85% to 32% of the context window)"
