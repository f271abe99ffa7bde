"""What is typed: history, pastes, completion, and what an entered text means."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.clients.tui.attached_files import dropped_paths
from robota.clients.tui.flows.completion_popup import PopupEnter, popup_for, wants_completion
from robota.clients.tui.flows.draft import moved_by_row
from robota.clients.tui.flows.entered_text import TypeAgain, Written, is_working, meaning_of_entry
from robota.clients.tui.flows.paste_chips import PasteChips
from robota.clients.tui.flows.prompt_history import PromptHistory, prompts_in
from robota.clients.view.model import ViewModel
from robota.clients.view.reduce import reduce
from robota.protocol.asks.answer import Reject, Say
from robota.protocol.asks.ask import ApprovalAsk, LimitAsk, LimitKind, QuestionAsk
from robota.protocol.commands import AskResponse, NewTask, QueueMessage, RunSlashCommand
from robota.protocol.completion import CandidateKind, CompletionCandidate, PromptCompletion
from robota.protocol.events import MessageCreated, TaskEnded
from robota.protocol.message import Message
from tests.clients.stories import TASK, state

MODE = CompletionCandidate(kind=CandidateKind.COMMAND, insert="/mode ", label="/mode [MODE]")
EXIT = CompletionCandidate(kind=CandidateKind.COMMAND, insert="/exit", label="/exit")
GIT_CHANGES = CompletionCandidate(kind=CandidateKind.MENTION, insert="@git-changes ", label="@git-changes")
FILE = CompletionCandidate(kind=CandidateKind.FILE, insert="@calc.py ", label="calc.py")


def view_with(**fields: Any) -> ViewModel:
    view = reduce(ViewModel(), state())
    if not fields:
        return view
    prompt = MessageCreated(task_id=TASK, message=Message(ts=1, type="say", say="text", text="go"))
    row = Message(ts=2, **fields)
    return reduce(reduce(view, prompt), MessageCreated(task_id=TASK, message=row))


def test_history_goes_back_and_gives_the_draft_back() -> None:
    history = PromptHistory().sent("one").sent("two").sent("two").sent("  ")
    assert history.prompts == ("one", "two")
    back = history.older("half").older("two")
    assert back.text == "one" and back.older("one").text == "one"
    assert back.newer("one").text == "two" and back.newer("one").newer("two").text == "half"
    assert history.matching("O") == ("two", "one")


@given(
    st.lists(st.sampled_from(["older", "newer"]) | st.text("abc", min_size=1, max_size=3), max_size=20),
    st.lists(st.text("xyz", min_size=1), max_size=4),
)
def test_no_change_of_an_earlier_prompt_is_lost(steps: list[str], sent: list[str]) -> None:
    """What stood in the input when an arrow key replaced it can be reached with arrow keys again."""
    history = PromptHistory()
    for prompt in sent:
        history = history.sent(prompt)
    text = ""
    for step in steps:
        if step == "newer" and history.position is None:
            continue  # there is nothing after what is being written
        if step in ("older", "newer"):
            known = {*history.prompts, history.draft if history.position is not None else "", text}
            history = history.older(text) if step == "older" else history.newer(text)
            text = history.text
            assert {each for each in known if each.strip()} <= {*history.prompts, history.draft, text}
        else:
            text += step


@given(st.lists(st.sampled_from(["older", "newer"]), max_size=30), st.text(), st.lists(st.text(), max_size=5))
def test_no_way_through_the_history_loses_the_draft(keys: list[str], draft: str, sent: list[str]) -> None:
    history = PromptHistory()
    for prompt in sent:
        history = history.sent(prompt)
    text = draft
    for key in keys:
        if key == "older":
            history = history.older(text)
            text = history.text
        elif history.position is not None:
            history = history.newer(history.text)
            text = history.text
    while history.position is not None:
        history = history.newer(history.text)
        text = history.text
    assert text == draft


@given(st.lists(st.text(), max_size=5), st.text())
def test_pastes_come_back_whole(pastes: list[str], typed: str) -> None:
    chips, text, wanted = PasteChips(), "", ""
    for paste in pastes:
        chips, inserted = chips.pasted(paste)
        text += inserted
        wanted += chips.texts.get(chips.last_number, inserted) if inserted.startswith("[Pasted") else inserted
    assert chips.expanded(text) == wanted
    assert chips.forgotten().pasted("a\nb")[1] == f"[Pasted text #{chips.last_number + 1} +2 lines]"


def test_a_paste_steers_nothing() -> None:
    chips, inserted = PasteChips().pasted("\x1b[31mred\x1b[0m\x07")
    assert inserted == "red" and not chips.texts


def test_enter_in_the_popup() -> None:
    def popup(text: str, candidate: CompletionCandidate, start: int = 0) -> PopupEnter:
        found = popup_for(text, len(text), PromptCompletion(start=start, end=len(text), candidates=(candidate, EXIT)))
        assert found is not None
        return found.on_enter()

    assert popup("/ex", EXIT) is PopupEnter.TAKE_AND_SEND
    assert popup("/mo", MODE) is PopupEnter.TAKE
    assert popup("/mode", MODE) is PopupEnter.SEND
    assert popup("see @gi", GIT_CHANGES, 4) is PopupEnter.TAKE
    assert popup("see @git-changes", GIT_CHANGES, 4) is PopupEnter.SEND, "there is nothing left to take"
    assert popup("/mode ", EXIT, start=6) is PopupEnter.SEND
    assert popup("@ca", FILE) is PopupEnter.TAKE


def test_a_word_is_put_in_at_the_caret() -> None:
    found = popup_for("look @ca now", 8, PromptCompletion(start=5, end=8, candidates=(FILE,)))
    assert found is not None and found.taken() == ("look @calc.py now", 14)
    assert wants_completion("look @ca now", 8) and not wants_completion("me@home", 7)
    assert wants_completion("/mode", 5) and not wants_completion("a /mode", 7)


def test_what_an_entered_text_means() -> None:
    assert meaning_of_entry(Written(text="fix it"), view_with()) == NewTask(text="fix it")
    assert meaning_of_entry(Written(text="/help"), view_with()) == RunSlashCommand(line="/help")
    assert meaning_of_entry(Written(text="/etc/hosts is odd"), view_with()) == NewTask(text="/etc/hosts is odd")
    assert meaning_of_entry(Written(text=" "), view_with()) == TypeAgain("")
    working = view_with(type="say", say="text", text="…")
    assert meaning_of_entry(Written(text="more"), working) == QueueMessage(text="more", after_turn=True)
    assert meaning_of_entry(Written(text="more"), working, is_steering=True) == QueueMessage(text="more")
    assert is_working(working)
    done = view_with(type="ask", ask="completion_result", text="")
    assert meaning_of_entry(Written(text="more"), done) == AskResponse(answer=Say(text="more"), ts=2)
    assert not is_working(done)


def test_words_never_approve() -> None:
    asked = view_with(type="ask", ask="command", text="ls", asked=ApprovalAsk(title="Bash ls"))
    assert meaning_of_entry(Written(text="y"), asked) == QueueMessage(text="y", after_turn=True)
    assert is_working(asked)


def test_a_limit_wants_a_yes_or_a_no() -> None:
    limit = LimitAsk(limit=LimitKind.REQUESTS, count=3)
    asked = view_with(type="ask", ask="auto_approval_max_req_reached", text="", asked=limit)
    assert isinstance(meaning_of_entry(Written(text="maybe"), asked), TypeAgain)
    assert meaning_of_entry(Written(text="n"), asked) == AskResponse(answer=Reject(), ts=2)


def test_after_a_task_that_failed_the_next_words_begin_one() -> None:
    failed = reduce(view_with(type="say", say="error", text="odd"), TaskEnded(task_id=TASK, outcome="failed"))
    assert meaning_of_entry(Written(text="again"), failed) == NewTask(text="again") and not is_working(failed)


def test_a_line_with_an_exclamation_mark_is_a_command_of_the_user() -> None:
    working = view_with(type="say", say="text", text="…")
    done = view_with(type="ask", ask="completion_result", text="")
    asked = view_with(type="ask", ask="followup", text="?", asked=QuestionAsk(question="Which?"))
    line = Written(text=" !git status ")
    assert meaning_of_entry(line, view_with()) == NewTask(text="git status", is_command=True)
    assert meaning_of_entry(line, done) == AskResponse(answer=Say(text="git status", is_command=True), ts=2)
    for view in (working, asked):
        queued = QueueMessage(text="git status", after_turn=True, is_command=True)
        assert meaning_of_entry(line, view) == queued
    for words in ("!", "! ", "![a picture](x.png)", "no!ls"):
        assert Written(text=words).shell_command is None
    assert Written(text="!ls", images=("data:",)).shell_command is None


def test_a_line_with_a_hash_is_remembered_and_a_heading_of_several_lines_is_not() -> None:
    assert meaning_of_entry(Written(text="# use tabs"), view_with()) == RunSlashCommand(line="# use tabs")
    assert isinstance(meaning_of_entry(Written(text="# Title\ntext"), view_with()), NewTask)


def test_images_go_with_the_words_and_alone() -> None:
    done = view_with(type="ask", ask="completion_result", text="")
    chips, label = PasteChips().with_image("data:image/png;base64,AA")
    assert label == "[Image #1]" and chips.shown_images(f"see {label} and {label}") == ("data:image/png;base64,AA",)
    assert chips.shown_images("rubbed out") == () and chips.forgotten().shown_images(label) == ()
    image = ("data:",)
    assert meaning_of_entry(Written(text="", images=image), done) == AskResponse(answer=Say(images=image), ts=2)
    assert meaning_of_entry(Written(text="/x", images=image), view_with()) == NewTask(text="/x", images=image)


def test_dropped_files_are_nothing_but_paths() -> None:
    assert dropped_paths("/tmp/a.png") == ("/tmp/a.png",)
    assert dropped_paths("'/tmp/a b.png' /tmp/c\\ d.png\n") == ("/tmp/a b.png", "/tmp/c d.png")
    assert dropped_paths("/tmp/a b.png") == ("/tmp/a b.png",)
    assert dropped_paths("file:///tmp/a%20b.png") == ("/tmp/a b.png",)
    for words in ("", "see /tmp/a.png", "it's", "/tmp/a.png is odd\nreally", "relative/a.png"):
        assert dropped_paths(words) == ()


def test_prompts_of_a_resumed_session_can_be_recalled() -> None:
    rows = [
        Message(ts=1, type="say", say="text", text="first"),
        Message(ts=2, type="say", say="text", text="an answer"),
    ]
    rows.append(Message(ts=3, type="say", say="user_feedback", text="second"))
    assert prompts_in(rows) == ("first", "second")


@pytest.mark.parametrize(
    ("text", "caret", "by", "wanted"),
    [
        ("abcdefghij", 7, -1, 3),  # rows: abcd efgh ij
        ("abcdefghij", 1, 1, 5),
        ("abcdefghij", 7, 1, 10),  # the row below is shorter
        ("ab\nabcdefgh", 9, -1, 5),  # rows: ab, abcd, efgh
        ("ab\nabcdefgh", 6, -1, 2),
        ("漢字漢字", 3, -1, 1),  # two wide characters a row
        ("a漢字漢", 3, -1, 1),  # a wide character that does not fit is in the next row
        ("abcdefgh", 3, -1, None),
        ("abcdefgh", 5, 1, None),
        ("", 0, 1, None),
    ],
)
def test_the_cursor_moves_by_the_rows_that_are_seen(text: str, caret: int, by: int, wanted: int | None) -> None:
    assert moved_by_row(text, caret, 4, by) == wanted


@given(st.text("ab \n漢e\u0301", max_size=40), st.integers(0, 40), st.integers(1, 9), st.sampled_from([-1, 1]))
def test_a_move_by_a_row_stays_in_the_text_and_goes_that_way(text: str, caret: int, room: int, by: int) -> None:
    caret = min(caret, len(text))
    place = moved_by_row(text, caret, room, by)
    assert place is None or (0 <= place <= len(text) and (place > caret) is (by > 0) and place != caret)
