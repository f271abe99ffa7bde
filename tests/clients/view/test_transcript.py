"""The transcript: the plain interface and the scrollback print the same conversation."""

import io

from robota.clients.render.line_transcript import CONVERSATION_EVENTS, LineTranscript
from robota.clients.terminal.line_writer import LineWriter
from robota.clients.tui.colours import ColourDepth
from robota.clients.tui.scrollback import Scrollback
from robota.clients.tui.theme import Palette, Theme
from robota.clients.view.transcript import AnswerGrew, CallFinished, Transcript
from robota.protocol.calls import CallPurpose
from robota.protocol.events import Event, MessageCreated, MessageUpdated, TaskSpawned, TextDelta, ToolEnd, ToolStart
from robota.protocol.message import Message
from robota.protocol.views import DiffHunk, DiffLine, DiffView
from tests.clients.stories import TASK

SUBTASK = "task-2"
LINE = DiffLine(kind="add", text="new line\n", new_line=1)
DIFF = DiffView(
    path="calc.py",
    added=1,
    removed=0,
    hunks=(DiffHunk(old_start=1, old_count=0, new_start=1, new_count=1, lines=(LINE,)),),
)


def row(ts: int, say: str, text: str, task: str = TASK, *, partial: bool = False) -> MessageCreated:
    message = Message(ts=ts, type="say", say=say, text=text, partial=partial or None)
    return MessageCreated(task_id=task, message=message)


def asked(call_id: str) -> MessageCreated:
    return MessageCreated(task_id=TASK, message=Message(ts=50, type="ask", ask="tool", text="{}", call_id=call_id))


def started(call_id: str, title: str, task: str = TASK, purpose: CallPurpose = CallPurpose.WORK) -> ToolStart:
    return ToolStart(
        task_id=task, call_id=call_id, tool="t", label="T", first_arg="x", input={}, title=title, purpose=purpose
    )


def ended(call_id: str, task: str = TASK, status: str = "success", view: DiffView | None = None) -> ToolEnd:
    reason = None if status == "success" else "because"
    return ToolEnd(
        task_id=task, call_id=call_id, tool="t", label="T", first_arg="x", status=status, reason=reason, view=view
    )


STORY: tuple[Event, ...] = (
    row(1, "text", "do it"),
    row(2, "text", "I will ", partial=True),
    TextDelta(task_id=TASK, ts=2, delta="look."),
    MessageUpdated(task_id=TASK, message=Message(ts=2, type="say", say="text", text="I will look. Now.")),
    started("a", "Read calc.py"),
    started("b", "Grep words"),
    ended("a", status="error"),
    ended("b"),
    started("s", "Subtask count", purpose=CallPurpose.SUBTASK),
    TaskSpawned(task_id=TASK, child_task_id=SUBTASK),
    row(3, "text", "count", SUBTASK),
    row(4, "text", "Counted.", SUBTASK),
    ended("s"),
    row(5, "error", "It went wrong."),
    row(6, "text", "Done."),
)


def as_lines(*events: Event) -> str:
    out = io.StringIO()
    handlers = LineTranscript(LineWriter(out), CONVERSATION_EVENTS).handlers
    for event in events:
        if handle := handlers.get(type(event)):
            handle(event)
    return out.getvalue()


def as_rows(*events: Event) -> str:
    scrollback = Scrollback(Theme(Palette(codes={}, depth=ColourDepth.NONE)), lambda: 80)
    for event in events:
        scrollback.take(event)
    return "\n".join(scrollback.take_rows())


def test_lines_and_rows_tell_the_same_in_the_same_order() -> None:
    told = ["I will look. Now.", "Read calc.py", "because", "Grep words", "Counted.", "! It went wrong.", "Done."]
    for printed in (as_lines(*STORY), as_rows(*STORY)):
        assert all(words in printed for words in told)
        assert all(printed.count(words) == 1 for words in told if words != "Read calc.py")  # named again with its error
        places = [printed.index(words) for words in told if words not in ("Read calc.py", "Grep words")]
        assert places == sorted(places)


def test_streamed_text_is_told_once_however_it_arrives() -> None:
    transcript = Transcript()
    texts = [entry.text for event in STORY for entry in transcript.entries(event) if isinstance(entry, AnswerGrew)]
    assert "".join(texts) == "I will look. Now.Counted.Done."


def test_the_change_of_an_approved_call_is_known_unless_the_user_has_edited_it() -> None:
    begin = (row(1, "text", "do it"), started("a", "Edit calc.py"), asked("a"))
    for is_edited in (False, True):
        transcript = Transcript()
        for event in begin:
            list(transcript.entries(event))
        if is_edited:
            transcript.show_change_of("a")
        (finished,) = transcript.entries(ended("a", view=DIFF))
        assert isinstance(finished, CallFinished) and finished.is_change_known is not is_edited
    for printed in (as_lines(*begin, ended("a", view=DIFF)), as_rows(*begin, ended("a", view=DIFF))):
        assert "new line" not in printed
    for printed in (as_lines(*begin[:2], ended("a", view=DIFF)), as_rows(*begin[:2], ended("a", view=DIFF))):
        assert "new line" in printed
