"""The reducer of the terminal UI: sequences of keys, events and replies, without a terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from robota.clients.tui.effects import (
    After,
    KeepPrompt,
    OpenTranscript,
    Paint,
    PrintEvent,
    PrintSubject,
    PrintText,
    Quit,
    RunEditor,
    SentText,
    Submit,
)
from robota.clients.tui.events import (
    CompletionDue,
    EditorClosed,
    KeyPressed,
    OptionPicked,
    Pasted,
    Received,
    SecondPassed,
    SessionEvent,
    SessionOpened,
    TextEdited,
)
from robota.clients.tui.flows.entered_text import Written
from robota.clients.tui.key_table import NamedKey
from robota.clients.tui.live_view import PLAIN_THEME, draw
from robota.clients.tui.reducer.reduce import reduce
from robota.clients.tui.reducer.step import ScreenStep
from robota.clients.tui.state import CommandOptions, ListDialog, QueueDialog, ScreenState, Window
from robota.protocol.appearance import Appearance, ThemeName
from robota.protocol.asks.answer import Approve, ApproveEdited, ApproveHunks, ApproveInput, Reject, Say
from robota.protocol.asks.ask import ApprovalAsk, ApprovalVerdict, CompletionAsk, OfferedRules, ResumeAsk
from robota.protocol.commands import (
    Accepted,
    AskResponse,
    CancelTask,
    CompletePrompt,
    ListRewindPoints,
    NewTask,
    QueueMessage,
    Refused,
    RemoveQueuedMessage,
    RunSlashCommand,
)
from robota.protocol.events import MessageCreated, TaskAskResponded
from robota.protocol.message import Message
from robota.protocol.slash_commands import CommandChoice, CommandOption
from robota.protocol.views import TerminalView
from tests.clients.stories import TASK, state
from tests.clients.tui.reducer.screen_states import (
    COMMAND,
    COMPLETION,
    THINKING,
    after,
    asking,
    asking_about_plan,
    commands,
    later,
    of_kind,
    opened,
    pressed,
    queued,
    replied,
    typed,
)

YES = (Approve, ApproveEdited, ApproveHunks, ApproveInput)
GONE = Refused(code="no_active_task", message="There is no task.")
BUSY = Refused(code="task_busy", message="A task is running.")
NAMED = [key for key in NamedKey if key is not NamedKey.ANY]
KEYS = st.sampled_from([*NAMED, "y", "n", "a", "r", "e", "w", "b", "s", "1", "?", ":", "/", "@", "x", "漢", " "])
LONG = ApprovalAsk(title="Bash", view=TerminalView(command="\n".join(map(str, range(300))), output=""))


def rows_of(screen: ScreenState) -> str:
    frame = draw(screen, PLAIN_THEME, ())
    return "\n".join([*frame.above, *frame.below])


# Esc, Ctrl+C and Ctrl+D.


def test_a_second_escape_rewinds_or_clears_only_while_the_hint_is_shown() -> None:
    assert commands(pressed(opened(), NamedKey.ESCAPE, NamedKey.ESCAPE)) == [ListRewindPoints()]
    too_late = later(pressed(opened(), NamedKey.ESCAPE).state, 10.0)
    assert commands(pressed(too_late, NamedKey.ESCAPE)) == []
    with_other_key_between = pressed(opened(), NamedKey.ESCAPE, NamedKey.TAB, NamedKey.ESCAPE)
    assert commands(with_other_key_between) == []
    cleared = pressed(typed(opened(), "words"), NamedKey.ESCAPE, NamedKey.ESCAPE)
    assert cleared.state.draft.text == "" and KeepPrompt("words") in cleared.effects


def test_ctrl_c_twice_while_working_leaves_even_if_the_turn_has_stopped_in_between() -> None:
    step = pressed(opened(*THINKING), NamedKey.CTRL_C)
    assert commands(step) == [CancelTask()]
    resumable = MessageCreated(task_id=TASK, message=Message(ts=9, type="ask", ask="resume_task", asked=ResumeAsk()))
    stopped = after(step.state, SessionEvent(resumable))
    for screen in (step.state, stopped):
        assert of_kind(reduce(screen, KeyPressed(NamedKey.CTRL_C)), Quit) == [Quit(0)]


@given(st.booleans(), st.booleans(), st.booleans())
def test_nothing_that_is_written_is_given_up_or_left_by_one_key(has_text: bool, works: bool, vi: bool) -> None:
    screen = opened(*THINKING, vi=vi) if works else opened(vi=vi)
    screen = typed(screen, "words") if has_text else screen
    escaped, interrupted, ended = (pressed(screen, key) for key in (NamedKey.ESCAPE, NamedKey.CTRL_C, NamedKey.CTRL_D))
    assert escaped.state.draft.text == screen.draft.text and ListRewindPoints() not in commands(escaped)
    assert not of_kind(interrupted, Quit)
    assert bool(of_kind(ended, Quit)) is not has_text


# Sending.


@pytest.mark.parametrize(
    ("screen", "refusal", "first", "second"),
    [(opened(*THINKING), GONE, QueueMessage, NewTask), (opened(), BUSY, NewTask, QueueMessage)],
)
def test_text_is_sent_again_if_a_task_has_ended_or_begun_meanwhile(
    screen: ScreenState, refusal: Refused, first: type, second: type
) -> None:
    step = pressed(typed(screen, "words"), NamedKey.ENTER)
    assert [type(command) for command in commands(step)] == [first] and step.state.draft.text == ""
    again = replied(step, refusal)
    assert [type(command) for command in commands(again)] == [second]
    given_up = replied(again, refusal)
    assert commands(given_up) == [] and given_up.state.draft.text == "words" and of_kind(given_up, PrintText)


def test_several_lines_that_look_like_a_command_are_sent_as_text() -> None:
    step = pressed(typed(opened(), "/etc is\nodd"), NamedKey.ENTER)
    assert commands(step) == [RunSlashCommand(line="/etc is\nodd")]
    unknown = Refused(code="unknown_command", message="There is no command /etc.")
    assert commands(replied(step, unknown)) == [NewTask(text="/etc is\nodd")]
    one_line = replied(pressed(typed(opened(), "/etc"), NamedKey.CTRL_S), unknown)
    assert commands(one_line) == [] and of_kind(one_line, PrintText)


def test_a_prompt_for_the_start_is_sent_when_the_session_has_opened() -> None:
    step = reduce(ScreenState(), SessionOpened(event=state(), prompt="do it", git_branch="main"))
    assert commands(step) == [NewTask(text="do it")] and step.state.git_branch == "main"


def test_text_that_was_refused_comes_before_what_was_typed_since() -> None:
    sent = pressed(typed(opened(), "first"), NamedKey.ENTER)
    step = reduce(typed(sent.state, "second"), Received(SentText(written_by(sent)), Refused(code="x", message="no")))
    assert step.state.draft.text == "first\nsecond"


def written_by(step: ScreenStep) -> Written:
    (effect,) = of_kind(step, Submit)
    assert isinstance(effect, Submit) and isinstance(effect.request, SentText)
    return effect.request.written


def test_completions_are_requested_again_while_files_are_indexed_and_only_for_the_same_text() -> None:
    step = reduce(opened(), TextEdited("/he", 3))
    assert commands(step) == [CompletePrompt(text="/he", caret=3)]
    step = replied(step, Accepted(completion=replace(COMPLETION, is_complete=False)))
    assert [effect.event for effect in of_kind(step, After)] == [CompletionDue("/he", 3)]
    assert commands(reduce(step.state, CompletionDue("/he", 3))) == [CompletePrompt(text="/he", caret=3)]
    assert commands(reduce(typed(step.state, "/hel"), CompletionDue("/he", 3))) == []


def test_late_completions_of_an_earlier_text_do_not_close_the_popup() -> None:
    earlier = reduce(opened(), TextEdited("/h", 2))
    screen = typed(earlier.state, "/he")
    assert replied(ScreenStep(screen, earlier.effects), Accepted()).state.draft.popup is not None


# The queue.


def test_the_open_queue_follows_the_queue_and_closes_with_it() -> None:
    screen = pressed(opened(*THINKING, queued("one", "two", "three")), NamedKey.UP).state
    assert isinstance(screen.dialog, QueueDialog)
    shorter = after(screen, SessionEvent(queued("one", "two")))
    assert isinstance(shorter.dialog, QueueDialog) and len(shorter.dialog.entries.entries) == 2
    assert after(shorter, SessionEvent(queued())).dialog is None


def test_an_edited_entry_comes_into_the_input_when_it_has_left_the_queue() -> None:
    step = pressed(opened(*THINKING, queued("one", "two")), NamedKey.UP, NamedKey.ENTER)
    assert commands(step) == [RemoveQueuedMessage(id="two")] and step.state.draft.text == ""
    assert replied(step, Accepted()).state.draft.text == "two"
    assert replied(step, GONE).state.draft.text == ""


def test_a_stopped_turn_gives_the_queue_back_in_its_order() -> None:
    screen = opened(*THINKING, queued("one", "two"))
    resumable = MessageCreated(task_id=TASK, message=Message(ts=9, type="ask", ask="resume_task", asked=ResumeAsk()))
    step = replied(reduce(screen, SessionEvent(resumable)), Accepted())
    assert step.state.draft.text == "one\ntwo"


def test_the_queue_is_not_opened_over_a_card_which_would_be_gone_afterwards() -> None:
    screen = opened(*THINKING, queued("one", "two"), asking())
    just_asked = replace(screen, now=screen.now - 3.0)
    after_up = pressed(just_asked)
    step = reduce(after_up.state, KeyPressed(NamedKey.UP))
    assert step.state.approval is not None and step.state.dialog is None


# Approvals.


def test_of_two_requests_the_first_is_answered_first_and_one_answered_elsewhere_is_gone() -> None:
    screen = opened(*THINKING, asking(ts=9), asking(ts=10), asking(ts=11))
    screen = after(screen, SessionEvent(TaskAskResponded(task_id=TASK, ts=10, response="yesButtonClicked")))
    first = pressed(screen, "y")
    second = pressed(first.state, "n")
    assert commands(first) == [AskResponse(answer=Approve(), ts=9)]
    assert commands(second) == [AskResponse(answer=Reject(), ts=11)]
    assert second.state.approval is None


def test_a_low_card_shows_a_rule_before_it_is_granted() -> None:
    suggestions = (OfferedRules(rules=("Bash(rm x)",), covers="exactly this command"),)
    asked = ApprovalAsk(title="Bash rm x", verdict=ApprovalVerdict(reason="because " * 40, suggestions=suggestions))
    screen = opened(*THINKING, asking(asked))
    assert "because" in rows_of(screen) and "Bash(rm x)" in rows_of(screen)
    low = replace(screen, window=Window(columns=40, rows=5))
    assert "Bash(rm x)" not in rows_of(low)
    for keys in (["a"], [NamedKey.DOWN, NamedKey.DOWN, NamedKey.ENTER]):
        shown = pressed(low, *keys)
        assert commands(shown) == [] and "Bash(rm x)" in rows_of(shown.state)
        assert commands(pressed(shown.state, "s")) == [AskResponse(answer=Approve(grant=("Bash(rm x)",)), ts=9)]


def test_a_yes_counts_only_when_everything_was_shown() -> None:
    screen = opened(*THINKING)
    step = reduce(screen, SessionEvent(asking(LONG)))
    assert of_kind(step, PrintSubject) == [PrintSubject(asked=LONG, is_whole=False)]
    refused = pressed(later(step.state), "y")
    assert commands(refused) == [] and of_kind(refused, PrintText)
    seen = pressed(refused.state, NamedKey.CTRL_O)
    assert of_kind(seen, PrintSubject) == [PrintSubject(asked=LONG, is_whole=True)]
    assert commands(pressed(seen.state, "y")) == [AskResponse(answer=Approve(), ts=9)]
    assert of_kind(pressed(seen.state, NamedKey.CTRL_O), OpenTranscript)
    assert commands(pressed(step.state, "n")) == [AskResponse(answer=Reject(), ts=9)]


def test_the_draft_is_in_the_input_again_after_the_card_has_used_it() -> None:
    screen = typed(opened(*THINKING), "half a sentence")
    screen = later(after(screen, SessionEvent(asking())))
    edited = typed(pressed(screen, "e").state, "rm it")
    assert edited.prompt_draft == "half a sentence"
    step = pressed(edited, NamedKey.ENTER)
    assert commands(step) == [AskResponse(answer=ApproveEdited(edited="rm it"), ts=9)]
    assert step.state.draft.text == "half a sentence" and "rm it" in step.state.draft.history.prompts
    assert "is kept" not in _below(step.state), "it was sent"
    elsewhere = after(edited, SessionEvent(TaskAskResponded(task_id=TASK, ts=9, response="yesButtonClicked")))
    assert elsewhere.approval is None and elsewhere.draft.text == "half a sentence"
    assert "What you wrote is kept" in _below(elsewhere)
    replied = pressed(typed(pressed(screen, "w").state, "use yarn"), NamedKey.ENTER)
    assert isinstance(commands(replied)[0], AskResponse) and "is kept" not in _below(replied.state)


def test_the_hints_of_a_card_fit_into_80_columns() -> None:
    screen = later(after(opened(*THINKING), SessionEvent(asking())))
    for key, end in (("e", "Esc goes back."), ("w", "Esc: back.")):
        assert f"{end}\n" in _below(pressed(screen, key).state)


def test_rewind_without_arguments_opens_the_list_of_prompts() -> None:
    for line, command in (("/rewind", ListRewindPoints()), ("/rewind list", RunSlashCommand(line="/rewind list"))):
        written = reduce(opened(), TextEdited(line, len(line))).state
        assert commands(pressed(written, NamedKey.ENTER)) == [command]


def _below(screen: ScreenState) -> str:
    return "\n".join(draw(screen, PLAIN_THEME, ()).below)


def test_a_card_does_not_accept_keys_while_the_user_is_typing() -> None:
    screen = after(typed(opened(*THINKING), "ye"), SessionEvent(asking()), TextEdited("yes", 3))
    assert commands(reduce(screen, KeyPressed("y"))) == []
    assert commands(reduce(later(screen, 0.5), KeyPressed("y"))) == []
    assert commands(reduce(later(screen, 2.5), KeyPressed("y"))) == [AskResponse(answer=Approve(), ts=9)]


@given(st.lists(KEYS, max_size=25))
def test_no_keys_raise_and_only_a_key_on_the_card_approves(keys: list[str]) -> None:
    screen = opened(*THINKING, queued("one", "two"), asking())
    for key in keys:
        takes_keys = screen.approval is not None and not screen.uses_input_for_card
        step = reduce(later(screen, 0.5), KeyPressed(key))
        yes = [c for c in commands(step) if isinstance(c, AskResponse) and isinstance(c.answer, YES)]
        assert not yes or takes_keys or screen.uses_input_for_card
        assert not yes or key in ("y", "a", "1", "s", "r", NamedKey.ENTER, NamedKey.CTRL_S)
        rows_of(step.state)
        screen = step.state


# Lists.


def test_escape_in_a_list_returns_to_the_list_that_led_to_it() -> None:
    options = CommandOptions(("/provider", "/provider models"))
    assert commands(reduce(opened(), OptionPicked(options, None))) == [RunSlashCommand(line="/provider")]
    assert commands(reduce(opened(), OptionPicked(CommandOptions(("/provider",)), None))) == []


def test_a_list_of_themes_previews_them_and_escape_restores_the_chosen_one() -> None:
    dark, light = (Appearance(theme=name) for name in (ThemeName.DARK, ThemeName.LIGHT))
    choice = CommandChoice(
        title="Theme",
        options=(
            CommandOption(label="dark", line="/theme dark", appearance=dark),
            CommandOption(label="light", line="/theme light", appearance=light),
        ),
    )
    step = pressed(typed(opened(), "/theme"), NamedKey.ESCAPE, NamedKey.ENTER)
    step = replied(step, Accepted(outcome=choice))
    assert isinstance(step.state.dialog, ListDialog) and step.state.colours.shown == dark
    moved = pressed(step.state, NamedKey.DOWN)
    assert moved.state.colours.shown == light and Paint(light, None) in moved.effects
    closed = pressed(moved.state, NamedKey.ESCAPE)
    assert closed.state.colours.shown == Appearance() and closed.state.dialog is None


def test_a_request_for_approval_replaces_an_open_list() -> None:
    screen = pressed(opened(*THINKING), NamedKey.CTRL_R).state
    asked = after(screen, SessionEvent(asking()))
    assert asked.dialog is None and asked.approval is not None
    refused = pressed(typed(opened(*THINKING, asking()), "words"), NamedKey.CTRL_R)
    assert refused.state.approval is not None


# Events and timers.


def test_every_event_is_printed_with_the_view_it_led_to() -> None:
    step = reduce(opened(), SessionEvent(THINKING[0]))
    assert step.effects[0] == PrintEvent(THINKING[0]) and step.state.view.rows.last() is not None


def test_the_clock_runs_while_the_same_work_goes_on() -> None:
    step = reduce(opened(*THINKING[:1]), SessionEvent(THINKING[1]))
    since = step.state.working_since
    assert since is not None
    assert of_kind(reduce(step.state, SecondPassed(since)), After) == [After(1.0, SecondPassed(since))]
    assert of_kind(reduce(step.state, SecondPassed(since - 1)), After) == []
    message = Message(ts=9, type="ask", ask="completion_result", asked=CompletionAsk())
    done = MessageCreated(task_id=TASK, message=message)
    finished = after(step.state, SessionEvent(done))
    assert of_kind(reduce(finished, SecondPassed(since)), After) == []


def test_a_paste_never_answers_a_card() -> None:
    step = reduce(opened(*THINKING, asking(COMMAND)), Pasted("y"))
    assert commands(step) == [] and step.state.draft.text == "y" and step.state.approval is not None


def test_the_editor_key_opens_the_plan_that_is_asked_about_and_what_it_becomes_answers() -> None:
    screen = opened(*THINKING, asking_about_plan("1. Cook."))
    [editor] = of_kind(pressed(screen, NamedKey.CTRL_G), RunEditor)
    assert editor.text == "Edited plan:\n\n1. Cook.\n"
    edited = after(screen, EditorClosed("Edited plan:\n\n1. Cook.\n2. Eat.\n"))
    [answer] = commands(pressed(edited, NamedKey.ENTER))
    assert answer == AskResponse(answer=Say(text="Edited plan:\n\n1. Cook.\n2. Eat."), ts=9)
    [chosen] = commands(pressed(typed(screen, "1"), NamedKey.ENTER))
    assert chosen == AskResponse(answer=Say(text="Carry it out"), ts=9)
    [begun] = of_kind(pressed(typed(screen, "shorter"), NamedKey.CTRL_G), RunEditor)
    assert begun.text == "shorter"
