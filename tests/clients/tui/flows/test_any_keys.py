"""Any keys at all in the small flows: none raises, none loses text, none answers what nobody chose."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.clients.tui.flows.completion_popup import popup_for
from robota.clients.tui.flows.confirm_prompt import ConfirmPrompt, press_to_confirm
from robota.clients.tui.flows.entered_text import TypeAgain, Written, is_working, words_for_session
from robota.clients.tui.flows.paste_chips import PasteChips
from robota.clients.view.model import ViewModel
from robota.clients.view.reduce import reduce
from robota.protocol.asks.ask import (
    ApprovalAsk,
    ApprovalVerdict,
    Ask,
    CompletionAsk,
    FailureAsk,
    QuestionAsk,
    ResumeAsk,
)
from robota.protocol.commands import QueueMessage
from robota.protocol.completion import CandidateKind, CompletionCandidate, PromptCompletion
from robota.protocol.events import MessageCreated
from robota.protocol.message import Message
from robota.protocol.views import TerminalView
from tests.clients.stories import TASK, state

KEYS = st.sampled_from(["up", "down", "enter", "escape", "space", "tab", "backspace", "y", "n", "x", "漢", ""])
ASKED = ApprovalAsk(title="Bash rm", view=TerminalView(command="rm it", output=""), verdict=ApprovalVerdict())
ASK = Message(ts=9, type="ask", ask="command", text="rm it", asked=ASKED, call_id="c")


@given(st.lists(KEYS, max_size=12))
def test_only_y_n_escape_or_a_chosen_row_answers_a_question(keys: list[str]) -> None:
    prompt, moved = ConfirmPrompt(question="Sure?"), False
    for key in keys:
        after = press_to_confirm(prompt, key)
        if isinstance(after, bool):
            assert key in ("y", "n", "escape") or (key == "enter" and moved)
            assert after is (key == "y" or (key == "enter" and prompt.rows.index == 0))
            return
        moved = moved or key in ("up", "down")
        prompt = after


@given(st.text("ab /@漢", max_size=8), st.text("ab 漢", max_size=8), st.integers(-3, 3))
def test_a_completion_loses_nothing_around_what_it_replaces(before: str, after: str, moves: int) -> None:
    text, caret = f"{before}@fi{after}", len(before) + 3
    candidates = [CompletionCandidate(insert=name, label=name, kind=CandidateKind.FILE) for name in ("@file ", "@fill")]
    found = PromptCompletion(candidates=tuple(candidates), start=len(before), end=caret)
    popup = popup_for(text, caret, found)
    assert popup is not None
    for _ in range(abs(moves)):
        popup = popup.moved(1 if moves > 0 else -1)
    taken, place = popup.taken()
    assert taken.startswith(before) and taken[place:].strip() == after.strip()
    assert taken[len(before) : place] == popup.chosen.insert


@given(st.lists(st.sampled_from(["data:a", "data:b", "data:c"]), max_size=4), st.text("words 漢", max_size=10))
def test_a_prompt_that_is_taken_back_has_its_images_again(images: list[str], words: str) -> None:
    chips, text = PasteChips(), words
    for image in images:
        chips, label = chips.with_image(image)
        text += label
    sent = chips.shown_images(text)
    other, label = PasteChips(last_number=40).with_image("data:other")
    restored, shown = other.restored(text, sent)
    assert shown == text and restored.shown_images(shown) == sent
    assert restored.shown_images(label) == ("data:other",)
    bare, labelled = PasteChips().restored(words, sent)
    assert bare.shown_images(labelled) == sent and labelled.startswith(words)


@given(st.text(max_size=30), st.booleans())
def test_words_never_answer_a_request_for_approval(text: str, steers: bool) -> None:
    view = ViewModel()
    for event in (state(), MessageCreated(task_id=TASK, message=ASK)):
        view = reduce(view, event)
    meant = words_for_session(Written(text=text), view, is_steering=steers)
    if text.strip():
        assert isinstance(meant, QueueMessage) and meant.text in text and meant.after_turn is not steers
    else:
        assert isinstance(meant, TypeAgain)


@pytest.mark.parametrize(
    ("kind", "asked", "can_be_stopped"),
    [
        ("command", ASKED, True),
        ("followup", QuestionAsk(question="Which?"), True),
        ("api_req_failed", FailureAsk(message="refused"), True),
        ("kind_of_tomorrow", None, True),
        ("completion_result", CompletionAsk(), False),
        ("resume_task", ResumeAsk(), False),
    ],
)
def test_a_task_that_waits_for_an_answer_can_be_stopped(kind: str, asked: Ask | None, can_be_stopped: bool) -> None:
    ask = Message(ts=9, type="ask", ask=kind, asked=asked)
    assert is_working(reduce(reduce(ViewModel(), state()), MessageCreated(task_id=TASK, message=ask))) is can_be_stopped
