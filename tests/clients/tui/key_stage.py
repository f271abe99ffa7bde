"""The terminal UI in a given state, one key, and what the key did: for the table of states and keys."""

import asyncio
import io
import os
import pty
import termios
from collections.abc import Callable, Sequence

import msgspec
import pytest
from prompt_toolkit.key_binding.key_processor import KeyPress, _Flush
from prompt_toolkit.keys import Keys

from robota.clients.tui.app import ScreenSetup, ScreenShell
from robota.clients.tui.colours import ColourDepth
from robota.clients.tui.flows import typing_pause
from robota.clients.tui.key_table import USUAL, Action, Bindings, DraftAction, ScreenAction, SessionAction
from robota.clients.tui.live_view import shown_answers
from robota.clients.tui.palettes import DARK
from robota.clients.tui.state import QuestionDialog, ScreenState
from robota.clients.tui.theme import Palette, Theme
from robota.protocol.asks.answer import Approve, ApproveEdited, Reject, Say
from robota.protocol.asks.ask import (
    ApprovalAsk,
    ApprovalVerdict,
    Ask,
    CompletionAsk,
    EditableField,
    FailureAsk,
    LimitAsk,
    LimitKind,
    MistakesAsk,
    OfferedRules,
    QuestionAsk,
    ResumeAsk,
    SuggestedAnswer,
)
from robota.protocol.commands import (
    Accepted,
    AskResponse,
    CancelTask,
    Command,
    CompletePrompt,
    ListRewindPoints,
    NewTask,
    QueueMessage,
    RemoveQueuedMessage,
    RetryNow,
    RunSlashCommand,
    SetPermissionMode,
)
from robota.protocol.completion import CandidateKind, CompletionCandidate, PromptCompletion
from robota.protocol.events import (
    Event,
    MessageCreated,
    QueuedMessagesUpdated,
    RetryScheduled,
    State,
    Thinking,
    ToolStart,
)
from robota.protocol.message import Message, QueuedMessage
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.views import TerminalView
from tests.clients.scripted_peer import ScriptedSession
from tests.clients.stories import TASK, state

PALETTE = Palette(codes=DARK, code_style="bw", depth=ColourDepth.NONE)
EARLIER = "earlier"
DRAFT = "draft"
COMMAND = ApprovalAsk(
    title="Bash rm",
    view=TerminalView(command="rm -r it", output=""),
    verdict=ApprovalVerdict(suggestions=(OfferedRules(rules=("Bash(rm:*)",), covers="much"),)),
    editable=EditableField(name="command", text="rm -r it"),
)
PROMPT = Message(ts=1, type="say", say="text", text="do it")
REQUEST = Message(ts=2, type="say", say="api_req_started", text="{}")
WORDS = Message(ts=3, type="say", say="text", text="First wor", partial=True)
CALL = ToolStart(task_id=TASK, call_id="c", tool="execute_command", label="Bash", first_arg="make", input={})
RETRY = RetryScheduled(task_id=TASK, attempt=1, max_retries=3, delay_ms=60_000, error="overloaded", reason="busy")
WAITING = QueuedMessage(id="q1", timestamp=5, text="queued words", after_turn=True)
KEYS: dict[str, tuple[KeyPress, ...]] = {
    "Esc": (KeyPress(Keys.Escape, "\x1b"),),
    "Esc Esc": (KeyPress(Keys.Escape, "\x1b"), KeyPress(Keys.Escape, "\x1b")),
    "Ctrl+C": (KeyPress(Keys.ControlC, "\x03"),),
    "Ctrl+D": (KeyPress(Keys.ControlD, "\x04"),),
    "Enter": (KeyPress(Keys.ControlM, "\r"),),
    "y": (KeyPress("y", "y"),),
    "n": (KeyPress("n", "n"),),
    "a": (KeyPress("a", "a"),),
    "other letter": (KeyPress("t", "t"),),
    "Up": (KeyPress(Keys.Up, "\x1b[A"),),
    "Shift+Tab": (KeyPress(Keys.BackTab, "\x1b[Z"),),
}


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """A state of the UI: what the session has said, what was typed since, and the keys that led there."""

    events: tuple[Event, ...] = ()
    text: str = ""
    keys: tuple[KeyPress, ...] = ()
    has_vi_keys: bool = False
    bindings: Bindings = USUAL
    mode: PermissionMode = PermissionMode.DEFAULT


def rows(*messages: Message) -> tuple[Event, ...]:
    return tuple(MessageCreated(task_id=TASK, message=each) for each in messages)


def asking(kind: str, asked: Ask, call_id: str | None = None) -> tuple[Event, ...]:
    return rows(PROMPT, Message(ts=9, type="ask", ask=kind, text="asked", asked=asked, call_id=call_id))


THINKING = (*rows(PROMPT, REQUEST), Thinking(task_id=TASK, is_thinking=True))
CARD = asking("command", COMMAND, "c")
SCENES: dict[str, tuple[Scene, ...]] = {
    "idle, empty input": (Scene(), Scene(events=asking("completion_result", CompletionAsk()))),
    "idle, a draft": (Scene(text=DRAFT), Scene(events=asking("completion_result", CompletionAsk()), text=DRAFT)),
    "idle, a draft, vi keys": (Scene(text=DRAFT, has_vi_keys=True),),
    "working, empty input": (
        Scene(events=THINKING),
        Scene(events=(*THINKING, *rows(WORDS))),
        Scene(events=(*THINKING, CALL)),
        Scene(events=THINKING, has_vi_keys=True),
    ),
    "working, a draft": (Scene(events=THINKING, text=DRAFT), Scene(events=(*THINKING, CALL), text=DRAFT)),
    "working, a draft, vi keys": (Scene(events=THINKING, text=DRAFT, has_vi_keys=True),),
    "working, a queued message": (Scene(events=(*THINKING, QueuedMessagesUpdated(task_id=TASK, queue=(WAITING,)))),),
    "waiting to retry": (Scene(events=(*THINKING, RETRY)),),
    "waiting to retry, a draft": (Scene(events=(*THINKING, RETRY), text=DRAFT),),
    "approval": (Scene(events=CARD),),
    "approval, a draft from before": (Scene(events=CARD, text=DRAFT),),
    "approval, a draft begun at it": (Scene(events=CARD, keys=(KeyPress("t", "t"),)),),
    "approval, the rules": (Scene(events=CARD, keys=(KeyPress("r", "r"),)),),
    "approval, editing or replying": (
        Scene(events=CARD, keys=(KeyPress("e", "e"), KeyPress(Keys.ControlE, "\x05"), KeyPress("1", "1"))),
    ),
    "question of the model": (Scene(events=asking("followup", QuestionAsk(question="Which?"))),),
    "question of the model, with answers": (
        Scene(events=asking("followup", QuestionAsk(question="Which?", suggestions=(SuggestedAnswer(answer="this"),)))),
    ),
    "failed request": (Scene(events=asking("api_req_failed", FailureAsk(message="401"))),),
    "failed request, a draft": (Scene(events=asking("api_req_failed", FailureAsk(message="401")), text=DRAFT),),
    "limit reached": (
        Scene(events=asking("auto_approval_max_req_reached", LimitAsk(limit=LimitKind.REQUESTS, count=5))),
    ),
    "too many mistakes": (Scene(events=asking("mistake_limit_reached", MistakesAsk(message="again"))),),
    "interrupted": (Scene(events=asking("resume_task", ResumeAsk())),),
    "interrupted, a draft": (Scene(events=asking("resume_task", ResumeAsk()), text=DRAFT),),
    "yes/no question": (Scene(keys=KEYS["Shift+Tab"], mode=PermissionMode.PLAN),),
    "list": (Scene(keys=(KeyPress(Keys.ControlR, "\x12"),)),),
    "panel": (Scene(keys=(KeyPress("?", "?"),)),),
    "completion": (Scene(text="/he"),),
}


def effect(scene: Scene, key: str) -> str:
    """What the key does in this state, in a few words."""
    return pressed(scene, *KEYS[key])


def pressed(scene: Scene, *keys: KeyPress) -> str:
    """What these keys do in this state."""
    ours, theirs = pty.openpty()
    try:
        with os.fdopen(theirs) as stdin, pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.stdin", stdin)
            patch.setattr("sys.stdout", io.StringIO())
            patch.setattr(typing_pause, "QUIET_S", -1.0)
            patch.setattr(typing_pause, "QUIET_WITH_DRAFT_S", -1.0)
            return asyncio.run(_effect(theirs, scene, keys))
    finally:
        os.close(ours)


async def _effect(theirs: int, scene: Scene, keys: Sequence[KeyPress]) -> str:
    begins = State(state=msgspec.structs.replace(state().state, permission_mode=scene.mode))
    completion = PromptCompletion(
        candidates=(CompletionCandidate(insert="/help", label="/help", kind=CandidateKind.COMMAND),), start=0, end=3
    )
    session = ScriptedSession([begins, *scene.events], receipts={CompletePrompt: Accepted(completion=completion)})
    kept: list[str] = []
    shell = ScreenShell(
        session,
        ScreenSetup(
            theme=Theme(PALETTE),
            edit=_no_editor,
            git_branch=str,
            prompts=(EARLIER,),
            on_prompt=kept.append,
            has_vi_keys=scene.has_vi_keys,
            bindings=scene.bindings,
        ),
    )
    running = asyncio.ensure_future(shell.run(None))
    await _until(lambda: not termios.tcgetattr(theirs)[3] & termios.ICANON)
    await _until(lambda: shell.state.view.session is not None)
    await _settled()
    if scene.text:
        shell.region._input.insert_text(scene.text)
        await _settled()
    await _press(shell, scene.keys)
    sent_before, before = len(session.commands), shell.state
    await _press(shell, keys)
    after = shell.state
    had, has = _dialog(before), _dialog(after)
    commands = [each for each in session.commands[sent_before:] if not isinstance(each, CompletePrompt)]
    seen = Seen(
        commands=tuple(commands),
        had=before.draft.text,
        has=after.draft.text,
        offered=after.hint.offered,
        is_closed=(had is not None and has is None) or (before.draft.popup is not None and after.draft.popup is None),
        has_moved=had is not None and has is not None and type(had) is type(has) and had != has,
        has_opened=had is None and has is not None,
        has_ended=running.done(),
        kept=(*kept, *after.draft.history.prompts),
        has_left_card=before.uses_input_for_card and not after.uses_input_for_card,
    )
    shell.region._input.text = ""
    shell.leave(0)
    await running
    return in_words(seen, keys)


def _dialog(state: ScreenState) -> object:
    """What is open, without the moment at which it was opened."""
    if isinstance(state.dialog, QuestionDialog):
        return state.dialog.prompt
    return state.dialog or shown_answers(state) if state.approval is None else state.approval.card


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What could be noticed after the keys."""

    commands: tuple[Command, ...]
    had: str
    has: str
    offered: Action | None
    is_closed: bool
    has_moved: bool
    has_opened: bool
    has_ended: bool
    kept: tuple[str, ...]
    has_left_card: bool


OFFERS: dict[Action | None, str] = {
    SessionAction.REWIND: "offers to rewind",
    DraftAction.CLEAR: "offers to clear",
    ScreenAction.LEAVE: "offers to exit",
}


def in_words(seen: Seen, keys: Sequence[KeyPress]) -> str:
    """What was noticed, as the table says it."""
    if seen.has_ended:
        return "exits"
    does_write = seen.has == seen.had + keys[-1].data
    if seen.commands:
        words = " and ".join(dict.fromkeys(map(_sent, seen.commands)))
        return f"{words}, writes" if does_write else words
    if seen.had and not seen.has:
        assert seen.had in seen.kept, "what was written is gone"
        return "closes, kept" if seen.has_left_card else "clears, kept"
    if seen.has != seen.had:
        return "earlier prompt" if seen.has == EARLIER else "writes" if does_write else "changes the text"
    moved = "goes back" if keys[-1].key is Keys.Escape else "selects"
    others = {"closes": seen.is_closed, "asks first": seen.has_opened, moved: seen.has_moved}
    return OFFERS.get(seen.offered) or next((words for words, is_so in others.items() if is_so), "—")


SENT: dict[type, str] = {
    NewTask: "sends",
    CancelTask: "stops",
    QueueMessage: "queues",
    RemoveQueuedMessage: "takes it back",
    RetryNow: "retries",
    ListRewindPoints: "rewinds",
    RunSlashCommand: "runs it",
}
ANSWERS: dict[type, str] = {Reject: "no", ApproveEdited: "yes, edited", Say: "sends"}
MODES = {PermissionMode.BYPASS: "yes", PermissionMode.DEFAULT: "no"}


def _sent(command: Command) -> str:
    match command:
        case AskResponse(answer=Approve(grant=grant)):
            return "yes, rule" if grant else "yes"
        case AskResponse(answer=answer):
            return ANSWERS[type(answer)]
        case SetPermissionMode(permission_mode=mode):
            return MODES.get(mode, "next mode")
        case _:
            return SENT[type(command)]


async def _press(shell: ScreenShell, keys: Sequence[KeyPress]) -> None:
    processor = shell.region._application.key_processor
    for key in keys:
        processor.feed(key)
        processor.feed(_Flush)
        processor.process_keys()
        await _settled()


async def _settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def _until(condition: Callable[[], bool]) -> None:
    for _ in range(100_000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came to that")


async def _no_editor(text: str) -> str:
    return text
