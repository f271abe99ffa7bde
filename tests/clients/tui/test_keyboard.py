"""The keyboard of a conversation with any keys at all: nothing raises, no text is lost, nothing unseen is answered."""

import asyncio
import io
import os
import pty
import termios
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robota.clients.tui.app import ScreenSetup, ScreenShell
from robota.clients.tui.colours import ColourDepth
from robota.clients.tui.flows import typing_pause
from robota.clients.tui.flows.entered_text import blocking_ask
from robota.clients.tui.palettes import DARK
from robota.clients.tui.theme import Palette, Theme
from robota.protocol.asks.answer import Approve, ApproveEdited, ApproveHunks, ApproveInput, Reject, Say
from robota.protocol.asks.ask import ApprovalAsk, ApprovalVerdict, EditableField, ElicitationAsk, OfferedRules
from robota.protocol.commands import AskResponse, Command, NewTask, SetPermissionMode
from robota.protocol.events import MessageCreated, State, TaskAskResponded
from robota.protocol.message import Message
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.views import TerminalView
from tests.clients.scripted_peer import ScriptedSession, Step
from tests.clients.stories import TASK, state

YES = (Approve, ApproveEdited, ApproveHunks, ApproveInput)
ASKED = ApprovalAsk(
    title="Bash rm",
    view=TerminalView(command="rm -r it", output=""),
    verdict=ApprovalVerdict(suggestions=(OfferedRules(rules=("Bash(rm:*)",), covers="much"),)),
    editable=EditableField(name="command", text="rm -r it"),
)
ASK = MessageCreated(
    task_id=TASK, message=Message(ts=9, type="ask", ask="command", text="rm -r it", asked=ASKED, call_id="c")
)
IN_PLAN_MODE = msgspec.structs.replace(
    state(), state=msgspec.structs.replace(state().state, permission_mode=PermissionMode.PLAN)
)
LETTERS = st.sampled_from("yanrw123 hed?漢é!#/@")
# Neither Ctrl+C, Ctrl+D nor Ctrl+Z, which leave, nor what opens another program.
KEYS = LETTERS | st.sampled_from(
    ["\r", "\n", "\t", "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "\x7f", "\x01", "\x05", "\x13", "\x12", "\x1b[Z"]
)


def typed(
    keys: list[str], *steps: Step, begins: State | None = None, screen: io.StringIO | None = None
) -> tuple[list[Command], str, object]:
    """What was sent after these keys, what stands in the input, and how it ended; `screen` gets what was drawn."""
    ours, theirs = pty.openpty()
    try:
        with os.fdopen(theirs) as stdin, pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.stdin", stdin)
            patch.setattr("sys.stdout", screen or io.StringIO())
            return asyncio.run(_typed(ours, theirs, "".join(keys), begins or state(), *steps))
    finally:
        os.close(ours)


async def _typed(ours: int, theirs: int, keys: str, begins: State, *steps: Step) -> tuple[list[Command], str, object]:
    session = ScriptedSession([begins, *steps])
    shell = ScreenShell(session, ScreenSetup(theme=Theme(PALETTE), edit=no_editor, git_branch=str))
    running = asyncio.ensure_future(shell.run(None))
    await turns_until(lambda: not termios.tcgetattr(theirs)[3] & termios.ICANON)
    await turns_until(lambda: shell.state.view.session is not None)
    await turns_until(lambda: not steps or blocking_ask(shell.state.view) is not None)
    for _ in range(20):
        await asyncio.sleep(0)  # everything that the session has to say is there
    os.write(ours, f"{keys}\x1b[200~{LAST}\x1b[201~".encode())
    await turns_until(lambda: LAST in shell.state.draft.text)
    for _ in range(10):
        await asyncio.sleep(0)  # what was entered is sent by tasks of their own
    left = shell.state.draft.text.replace(LAST, "")
    shell.leave(0)
    return session.commands, left, await running


async def turns_until(condition: Callable[[], bool]) -> None:
    """Let the loop turn until it is so; only a test that fails does not get there."""
    for _ in range(100_000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came to that")


# A paste goes into the input whatever is open: when it stands there, every key before it has been seen.
LAST = "END"
PALETTE = Palette(codes=DARK, code_style="bw", depth=ColourDepth.NONE)


async def no_editor(text: str) -> str:
    return text


@settings(max_examples=8, deadline=None)
@given(st.lists(KEYS, max_size=60))
def test_nothing_that_is_typed_before_a_card_takes_keys_answers_it(keys: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typing_pause, "QUIET_S", 1e9)
        commands, _, ended = typed(keys, ASK)
    assert ended == 0
    assert not [c for c in commands if isinstance(c, AskResponse) and isinstance(c.answer, YES)]


@settings(max_examples=8, deadline=None)
@given(st.lists(st.sampled_from("yan12 漢é\r\n"), max_size=60))
def test_every_letter_is_sent_or_still_there(keys: list[str]) -> None:
    commands, left, ended = typed(keys)
    sent = "".join(command.text for command in commands if isinstance(command, NewTask))
    assert ended == 0
    assert "".join(f"{sent}{left}".split()) == "".join("".join(keys).split())


@pytest.mark.parametrize(
    ("answer", "modes"), [("", []), ("n", [PermissionMode.DEFAULT]), ("y", [PermissionMode.BYPASS])]
)
def test_the_mode_in_which_nothing_is_asked_wants_a_yes(answer: str, modes: list[PermissionMode]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typing_pause, "QUIET_S", -1.0)
        commands, left, _ = typed(["\x1b[Z", *answer], begins=IN_PLAN_MODE)
    assert [c.permission_mode for c in commands if isinstance(c, SetPermissionMode)] == modes and not left


@pytest.mark.parametrize(("quiet_s", "keys", "left"), [(1e9, "yes do it", "yes do it"), (-1.0, "list it", "list it")])
def test_words_that_are_typed_on_are_no_answer_to_a_question_and_are_not_lost(
    quiet_s: float, keys: str, left: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typing_pause, "QUIET_S", quiet_s)
        commands, written, _ = typed(["\x1b[Z", *keys], begins=IN_PLAN_MODE)
    assert PermissionMode.BYPASS not in [c.permission_mode for c in commands if isinstance(c, SetPermissionMode)]
    assert written == left


def test_of_two_requests_the_first_is_answered_first_and_one_answered_elsewhere_is_gone() -> None:
    second = msgspec.structs.replace(ASK, message=msgspec.structs.replace(ASK.message, ts=10, call_id="d"))
    third = msgspec.structs.replace(ASK, message=msgspec.structs.replace(ASK.message, ts=11, call_id="e"))
    elsewhere = TaskAskResponded(task_id=TASK, ts=10, response="yesButtonClicked")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typing_pause, "QUIET_S", -1.0)
        commands, left, _ = typed(["y", "n", "y"], ASK, second, third, elsewhere)
    answers = [(c.ts, type(c.answer)) for c in commands if isinstance(c, AskResponse)]
    assert answers == [(9, Approve), (11, Reject)] and left == "y"


def test_an_answer_to_an_mcp_server_stays_on_the_screen() -> None:
    asked = ElicitationAsk(server="kitchen", question="Which dish?", field="dish", field_type="string")
    message = Message(ts=9, type="ask", ask="followup", text="Which dish?", asked=asked)
    screen = io.StringIO()
    commands, left, _ = typed([*"noodles", "\r"], MessageCreated(task_id=TASK, message=message), screen=screen)
    assert [c.answer for c in commands if isinstance(c, AskResponse)] == [Say(text="noodles")] and not left
    assert "\r\n\x1b[1m> noodles\x1b[0m" in screen.getvalue()
