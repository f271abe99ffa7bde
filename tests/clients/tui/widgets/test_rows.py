"""What is drawn: rows that fit, colours that can be switched off, diffs that can be read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.clients.terminal.width import columns_of, cut_columns
from robota.clients.tui.colours import ColourDepth
from robota.clients.tui.flows.approval_keys import ApprovalCard, card_for, press
from robota.clients.tui.flows.completion_popup import popup_for
from robota.clients.tui.flows.confirm_prompt import ConfirmPrompt
from robota.clients.tui.live_view import what_enter_does
from robota.clients.tui.palettes import theme_for
from robota.clients.tui.theme import Palette, Role, Theme, safe
from robota.clients.tui.widgets.approval_card import CardDrawing, card_layout, card_rows, short_command
from robota.clients.tui.widgets.approval_subject import first_rows
from robota.clients.tui.widgets.call_rows import call_rows
from robota.clients.tui.widgets.diff_rows import diff_text
from robota.clients.tui.widgets.lists import confirm_rows, popup_rows
from robota.clients.tui.widgets.live_rows import live_rows
from robota.clients.tui.widgets.status_bar import StatusFacts, short_number, status_row
from robota.clients.view.model import LiveTool, ViewModel
from robota.clients.view.reduce import reduce
from robota.protocol.asks.ask import ApprovalAsk, ApprovalVerdict, JudgedPart, OfferedRules
from robota.protocol.completion import CandidateKind, CompletionCandidate, PromptCompletion
from robota.protocol.events import ContextUpdate, MessageCreated, RetryScheduled, TodosUpdated, ToolCallDelta
from robota.protocol.message import Message, TodoItem
from robota.protocol.views import DiffHunk, DiffLine, DiffView, TerminalView
from tests.clients.stories import TASK, state

NO_COLOURS = theme_for({"NO_COLOR": "1"})
PLAIN = Theme(Palette(codes={}, depth=ColourDepth.NONE))
DIFF = DiffView(
    path="calc.py",
    added=1,
    removed=1,
    hunks=(
        DiffHunk(
            old_start=1,
            old_count=2,
            new_start=1,
            new_count=2,
            lines=(
                DiffLine(kind="context", text="def add(a, b):\n", old_line=1, new_line=1),
                DiffLine(kind="remove", text="    return a - b\n", old_line=2),
                DiffLine(kind="add", text="    return a + b\n", new_line=2),
            ),
        ),
    ),
)


@given(st.lists(st.tuples(st.text(), st.sampled_from(list(Role))), max_size=5), st.integers(0, 40))
def test_a_row_never_is_wider_than_the_screen_and_steers_nothing(pieces: list[tuple[str, Role]], width: int) -> None:
    row = PLAIN.row(pieces, width)
    assert columns_of(row) <= width
    assert "\x1b" not in row and "\n" not in row and "\r" not in row


@given(st.text(), st.integers(0, 20))
def test_what_is_cut_says_so(text: str, width: int) -> None:
    shown = cut_columns(safe(text), width)
    assert shown == safe(text) or width == 0 or shown.endswith("…")


def test_a_diff_has_line_numbers_and_marks_the_changed_words() -> None:
    assert list(diff_text(DIFF, PLAIN, 80)) == [
        "    calc.py  +1 -1",
        "    1   def add(a, b):",
        "    2 -     return a - b",
        "    2 +     return a + b",
    ]
    assert "\x1b[32;7m+\x1b[0m" in list(diff_text(DIFF, theme_for({}), 80))[-1]


def test_a_long_line_of_a_diff_goes_on_beside_the_line_numbers() -> None:
    call = LiveTool(call_id="1", tool="edit", label="Edit", first_arg="calc.py", status="success", view=DIFF)
    asked = ApprovalAsk(title="Edit", view=DIFF)
    for rows in (list(call_rows(call, PLAIN, 20)), first_rows(asked, PLAIN, 20)):
        assert rows[-2:] == ["    2 +     return a", "         + b"]


def test_a_command_that_is_asked_about_is_not_broken_so_that_it_can_be_copied() -> None:
    command = "echo " + "x" * 100
    asked = ApprovalAsk(title="Bash", view=TerminalView(command=command, output=""))
    assert any(command in row for row in first_rows(asked, PLAIN, 40))


def test_without_colours_nothing_is_coloured() -> None:
    call = LiveTool(call_id="1", tool="edit", label="Edit", first_arg="calc.py", status="error", view=DIFF, reason="no")
    assert not [row for row in call_rows(call, NO_COLOURS, 80) if "\x1b[3" in row]


def test_an_error_that_quotes_lines_shows_them_as_lines() -> None:
    reason = "old_string was not found. The nearest text is at lines 7-8:\n7 | a = 1\n8 | b = 2\nRead the file again."
    call = LiveTool(call_id="1", tool="edit", label="Edit", first_arg="a.py", status="error", reason=reason)
    rows = list(call_rows(call, PLAIN, 80))[1:]
    assert [row.strip() for row in rows] == reason.split("\n")
    long = LiveTool(call_id="1", tool="edit", label="Edit", first_arg="a.py", status="error", reason="x\n" * 20)
    assert list(call_rows(long, PLAIN, 80))[-1].strip() == "... +15 lines"


def test_a_long_output_is_shown_in_short_and_a_failed_command_as_failed() -> None:
    view = TerminalView(command="x", output="\n".join(map(str, range(9))), exit_code=2)
    call = LiveTool(call_id="1", tool="x", label="Bash", first_arg="x", status="success", view=view)
    assert list(call_rows(call, PLAIN, 80)) == [
        "■ Bash x",
        "    ... +5 lines (Ctrl+O shows all)",
        "    5",
        "    6",
        "    7",
        "    8",
        "    exit code 2",
    ]
    assert "\x1b[31m■" in next(call_rows(call, theme_for({}), 80))


def test_the_card_says_why_and_shows_keys_only_when_they_count() -> None:
    verdict = ApprovalVerdict(
        reason="a rule asks",
        parts=(
            JudgedPart(text="ls", decision="allow", reason=""),
            JudgedPart(text="rm x", decision="ask", reason=""),
        ),
        suggestions=(OfferedRules(rules=("Bash(rm x)",), covers="exactly this command"),),
        warnings=("unseen",),
    )
    asked = ApprovalAsk(title="Bash ls; rm x", view=TerminalView(command="ls; rm x", output=""), verdict=verdict)
    card = card_for(asked)
    waiting = list(card_rows(card, PLAIN, CardDrawing(width=60, room=40, takes_keys=False, has_draft=False)))
    assert waiting == [
        f"╭─ Run this command? {'─' * 38}╮",
        f"│ {'$ ls; rm x':56} │",
        f"│ {'a rule asks':56} │",
        f"│ {'  allow  ls':56} │",
        f"│ {'  ask    rm x':56} │",
        f"│ {'! unseen':56} │",
        f"│ {'…':56} │",
        f"╰{'─' * 58}╯",
    ]
    ready = "\n".join(card_rows(card, PLAIN, CardDrawing(width=60, room=40, takes_keys=True, has_draft=False)))
    assert "a yes, and allow Bash(rm x) for this session" in ready
    rules = press(card, "r")
    assert isinstance(rules, ApprovalCard)
    assert "exactly this command" in "\n".join(
        card_rows(rules, PLAIN, CardDrawing(width=60, room=40, takes_keys=True, has_draft=False))
    )


def test_a_card_in_a_low_window_says_why_before_it_explains_its_keys() -> None:
    verdict = ApprovalVerdict(reason="It leaves the sandbox.", rule="sandbox")
    asked = ApprovalAsk(title="Bash id", view=TerminalView(command="id", output=""), verdict=verdict)
    card = card_for(asked)
    low = CardDrawing(width=40, room=5, takes_keys=True, has_draft=False)
    assert card_layout(card, PLAIN, low).rows == [
        "╭─ Let this command past the sandbox? ─╮",
        f"│ {'$ id':36} │",
        f"│ {'It leaves the sandbox.':36} │",
        f"│ {'y yes  n no  w reply':36} │",
        "╰─ Up/Down Enter select   Esc stops ───╯",
    ]
    moved = press(card, "down")
    assert isinstance(moved, ApprovalCard)
    assert card_layout(moved, PLAIN, low).rows[-2] == f"│ {'>y yes  n no  w reply':36} │"
    lowest = CardDrawing(width=40, room=2, takes_keys=True, has_draft=False)
    assert card_layout(moved, PLAIN, lowest).rows == ["? Past the sandbox: Bash id", "  >y yes  n no  w reply"]


@pytest.mark.parametrize("width", [20, 33, 60, 80])
def test_a_rule_is_shown_word_for_word_where_a_key_grants_it(width: int) -> None:
    rules = ("Bash(git status --short)", f"Bash(touch {'deep/' * 12}made.txt)", "Bash(注文 *)")
    suggestions = (OfferedRules(rules=rules, covers="exactly this command"),)
    asked = ApprovalAsk(title="Bash", verdict=ApprovalVerdict(reason="", suggestions=suggestions))
    for card in (card_for(asked), press(card_for(asked), "r")):
        assert isinstance(card, ApprovalCard)
        rows = list(card_rows(card, PLAIN, CardDrawing(width=width, room=40, takes_keys=True, has_draft=False)))
        assert max(map(columns_of, rows)) <= width
        shown = "".join("".join(rows).replace("│", "").split())
        assert "".join("".join(rules).split()) in shown


def test_a_long_command_is_not_squeezed_into_the_card() -> None:
    asked = ApprovalAsk(title="Bash", view=TerminalView(command="x" * 3000, output=""))
    assert short_command(asked, 80) == ()


def test_the_status_bar_keeps_what_matters_on_a_narrow_screen() -> None:
    view = reduce(ViewModel(), state())
    full = ContextUpdate(task_id=TASK, used_tokens=95_000, max_tokens=100_000, used_percentage=95.0)
    view = reduce(view, full)
    assert status_row(view, StatusFacts(git_branch="main"), PLAIN, 200) == (
        "Idle | Mode: default | sandbox: on | git: main | model-x | Context: 95% (95K/100K)"
    )
    assert status_row(view, StatusFacts(git_branch="main"), PLAIN, 24) == "Idle | Mode: default"
    assert "\x1b[31mContext" in status_row(view, StatusFacts(), theme_for({}), 200)
    assert [short_number(each) for each in (5, 90_000, 1_000_000, 1_250_000)] == ["5", "90K", "1M", "1.2M"]


def test_the_status_bar_says_how_to_stop_what_runs() -> None:
    started = MessageCreated(task_id=TASK, message=Message(ts=1, type="say", say="api_req_started"))
    view = reduce(reduce(ViewModel(), state()), started)
    assert status_row(view, StatusFacts(seconds=3), PLAIN, 80).startswith("Thinking 3s | Esc stops | Mode: default")
    assert status_row(view, StatusFacts(seconds=3), PLAIN, 30) == "Thinking 3s | Mode: default"
    full = ContextUpdate(task_id=TASK, used_tokens=95_000, max_tokens=100_000, used_percentage=95.0)
    assert "Context" not in status_row(reduce(view, full), StatusFacts(), PLAIN, 60)
    assert "Esc stops" in status_row(reduce(view, full), StatusFacts(), PLAIN, 60)
    words = MessageCreated(task_id=TASK, message=Message(ts=2, type="say", say="text", text="I w", partial=True))
    assert status_row(reduce(view, words), StatusFacts(), PLAIN, 80).startswith("Answering | Esc stops")
    stalled = StatusFacts(seconds=101, silent_s=99)
    assert "silent for 99s | Esc stops | Mode: " in status_row(reduce(view, words), stalled, PLAIN, 80)
    waiting = reduce(view, MessageCreated(task_id=TASK, message=Message(ts=2, type="ask", ask="command", text="ls")))
    assert "Esc" not in status_row(waiting, StatusFacts(), PLAIN, 200)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("", "  Enter retries now, Esc stops."),
        ("mind the tests", "  Enter queues your message, Esc stops."),
        (" /model", "  Enter runs the command, Esc stops."),
    ],
)
def test_while_a_retry_is_awaited_it_is_shown_what_enter_does(written: str, shown: str) -> None:
    """With something written Enter retries nothing, as the table of keys says."""
    retry = RetryScheduled(task_id=TASK, attempt=1, max_retries=3, delay_ms=60_000, error="busy", reason="busy")
    view = reduce(reduce(ViewModel(), state()), retry)
    assert shown in list(live_rows(view, PLAIN, 60, enter=what_enter_does(written)))


def test_the_plan_is_shown_while_it_is_worked_on() -> None:
    todos = tuple(TodoItem(content=f"step {n}", status="completed" if n < 8 else "pending") for n in range(10))
    view = reduce(reduce(ViewModel(), state()), TodosUpdated(task_id=TASK, todos=todos))
    rows = list(live_rows(view, PLAIN, 40))
    assert rows[0] == "Plan (8 of 10 done)" and "  ☐ step 8" in rows and len(rows) == 7


def test_in_the_popup_every_command_says_what_it_does() -> None:
    commands = ("/memory [list | show | add | note | pending | approve | reject | used]", "/init [WORDS]")
    candidates = tuple(
        CompletionCandidate(kind=CandidateKind.COMMAND, label=label, insert=label, description="what it does")
        for label in commands
    )
    popup = popup_for("/", 1, PromptCompletion(start=0, end=1, candidates=candidates))
    assert popup is not None
    assert list(popup_rows(popup, PLAIN, 60)) == [
        "❯ /memory [list | show | add …  what it does",
        "  /init [WORDS]                 what it does",
    ]


def test_a_question_is_shown_whole() -> None:
    rows = list(confirm_rows(ConfirmPrompt(question="Go back to before this prompt, with 3 files?"), PLAIN, 24))
    assert rows == ["Go back to before this", "prompt, with 3 files?", "  y yes", "  n no"]


def test_a_call_that_is_still_written_is_named_in_words() -> None:
    delta = ToolCallDelta(task_id=TASK, call_id="1", tool="read_file", first_arg="calc.py")
    view = reduce(reduce(ViewModel(), state()), delta)
    assert list(live_rows(view, PLAIN, 60)) == ["□ Read file calc.py …"]
