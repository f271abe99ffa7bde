"""The open questions of all sessions in one list, answered there."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cli.scripts import call, script
from tests.harness.cli import Robota
from tests.harness.tmux import TmuxWindow
from tests.serving.test_detached import nothing_left, running

__all__ = ["nothing_left"]

QUESTION = call("ask_followup_question", question="Which colour?", follow_up=[{"text": "red"}])


def until(robota: Robota, count: int) -> list[dict[str, object]]:
    """The open questions, once there are so many."""
    asks: list[dict[str, object]] = []
    while len(asks := json.loads(robota("inbox", "--json").stdout)) != count:
        pass
    return asks


@pytest.fixture
def asking(robota: Robota) -> Iterator[Robota]:
    """Three sessions without a terminal; one of them was stopped while it asked."""
    for name in "ab":
        script(robota, {"calls": [call("write_to_file", path=f"{name}.txt", content="x\n")]}, {"text": "Written."})
        assert robota("--detach", f"write {name}").code == 0
        until(robota, "ab".index(name) + 1)
    script(robota, {"calls": [QUESTION]}, {"text": "Chosen."})
    robota("--detach", "choose a colour")
    until(robota, 3)
    stopped = next(each for each in running(robota) if each["title"] == "write b")
    assert robota("stop", stopped["sessionId"]).code == 0
    script(robota, {"text": "Written."})
    yield robota


def test_the_inbox_answers_three_sessions_of_which_one_does_not_run(asking: Robota) -> None:
    asks = until(asking, 3)
    assert {each["title"]: each["pid"] is not None for each in asks} == {
        "write a": True,
        "write b": False,
        "choose a colour": True,
    }
    with TmuxWindow(asking, "inbox", columns=120, rows=40) as window:
        window.sees("Which colour?")
        window.sees("Write b.txt?")
        window.press("Enter")
        answer_card(window, "a.txt", asking.workspace)
        window.sees("choose one to answer")
        until(asking, 2)
        answer_two_more(window, asking)
        window.sees("No session asks anything.")
        window.sees("shell:")


def answer_card(window: TmuxWindow, name: str, workspace: Path) -> None:
    """Approve in the same card as in the window of the session."""
    window.sees(f"╭─ Write {name}?")
    window.sees("y yes")
    window.press("y")
    while not (workspace / name).exists():
        pass


def answer_two_more(window: TmuxWindow, robota: Robota) -> None:
    """The two that are left, whichever of them comes first."""
    for left in (1, 0):
        first = until(robota, left + 1)[0]
        window.sees("leave")
        window.press("Enter")
        if first["title"] == "write b":
            answer_card(window, "b.txt", robota.workspace)
        else:
            window.sees("1 red")
            window.type("blue")
            window.press("Enter")
        until(robota, left)


def test_a_conversation_opens_the_inbox_and_continues_after_it(robota: Robota) -> None:
    script(robota, {"calls": [call("write_to_file", path="a.txt", content="x\n")]}, {"text": "Written."})
    robota("--detach", "write a")
    until(robota, 1)
    script(robota, {"text": "Hello."}, {"text": "Again."})
    with ExitStack() as stack:
        window = stack.enter_context(TmuxWindow(robota, "say hello", columns=120, rows=40))
        window.sees("Hello.")
        window.type("/inbox")
        window.press("Enter")
        window.sees("choose one to answer")
        window.press("Enter")
        answer_card(window, "a.txt", robota.workspace)
        window.sees("No session asks anything.")
        window.sees("Idle")
        window.type("more")
        window.press("Enter")
        window.sees("Again.")


def test_a_question_of_an_agent_stays_in_the_inbox_when_its_session_is_done(robota: Robota) -> None:
    """The conversation and its agent both ask; whichever is answered first, the other one is not forgotten."""
    agent = call("agent", description="Look around", prompt="Say what is here.", run_in_background=True)
    touch = {"calls": [call("execute_command", command="touch a.txt")]}
    script(robota, {"calls": [agent]}, touch, touch, *({"text": f"Words {number}."} for number in range(4)))
    assert robota("--detach", "start it").code == 0
    answered: set[str] = set()
    while len(answered) < 2:
        asks = [each for each in until(robota, 1) if json.dumps(each["ask"]) not in answered]
        for each in asks:
            answered.add(json.dumps(each["ask"]))
            assert robota("answer", str(each["sessionId"]), "yes").code == 0
    until(robota, 0)
