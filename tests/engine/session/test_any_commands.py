"""Any commands at any time: each gets its receipt, a refused one changes nothing, and the rows tell the state."""

import tempfile
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import currently_in_test_context, given, note, settings
from hypothesis import strategies as st

from robota.log.chain.reader import load
from robota.log.kinds.calls import AnswerRecord
from robota.log.kinds.conversation import MessageRecord
from robota.log.record import Payload, payload_of
from robota.log.replay.session import SessionFold
from robota.protocol.asks.answer import Approve, ApproveEdited, ApproveHunks, ApproveInput, Reject, Say
from robota.protocol.asks.kinds import RESUME_ASKS
from robota.protocol.codec import encode
from robota.protocol.commands import (
    Accepted,
    AskResponse,
    CancelTask,
    ClearTask,
    Command,
    CompletePrompt,
    CondenseContext,
    CondensePreviewRequest,
    ContextRequest,
    EditQueuedMessage,
    ListRewindPoints,
    ListSlashCommands,
    NewTask,
    OlderRowsRequest,
    PinTurn,
    QueueMessage,
    Receipt,
    RedoRewind,
    Refused,
    RemoveQueuedMessage,
    RestoreContext,
    RetryNow,
    RewindTo,
    RunSlashCommand,
    SetPermissionMode,
    ShowRewindDiff,
    SwitchMode,
    TerminalOperation,
    UndoRewind,
    UnknownCommand,
)
from robota.protocol.events import Event, PartialMessage, State, TextDelta
from robota.protocol.message import Message
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.rewind import RewindScope
from robota.protocol.state import AgentState, detect_agent_state, is_request_row
from tests.engine.session.gated_session import WORDS, GatedSession, with_gated_session

# Filled in when the command is sent: the ask that is open then, and the first queued message.
OPEN_ASK, FIRST_QUEUED = -1, "first"
TEXTS = st.sampled_from(("words", "more", ""))
ANSWERS = st.one_of(
    st.builds(Approve, text=TEXTS, grant=st.sampled_from(((), ("Bash(ls)",)))),
    st.builds(Reject, text=TEXTS),
    st.builds(Say, text=TEXTS),
    st.sampled_from((ApproveEdited(edited="x"), ApproveInput(input={"path": "."}), ApproveHunks(hunks=(0, 7)))),
)
RESPONSES = ("yesButtonClicked", "noButtonClicked", "messageResponse", "objectResponse", "shrug")
QUEUED = st.sampled_from((FIRST_QUEUED, "q1"))
NUMBERS = st.sampled_from((None, 1, 2, 99))
COMMANDS: dict[type, st.SearchStrategy[Any]] = {
    NewTask: st.builds(
        NewTask, text=TEXTS, mode=st.sampled_from((None, "ask", "nothing")), task_id=st.sampled_from((None, "mine"))
    ),
    ClearTask: st.builds(ClearTask),
    CancelTask: st.builds(CancelTask),
    AskResponse: st.one_of(
        st.builds(AskResponse, answer=ANSWERS, ts=st.sampled_from((OPEN_ASK, None, 1))),
        st.builds(AskResponse, ask_response=st.sampled_from(RESPONSES), text=TEXTS),
    ),
    TerminalOperation: st.builds(
        TerminalOperation, terminal_operation=st.sampled_from(("continue", "abort", "background", "x"))
    ),
    QueueMessage: st.builds(QueueMessage, text=TEXTS, after_turn=st.booleans()),
    EditQueuedMessage: st.builds(EditQueuedMessage, id=QUEUED, text=TEXTS),
    RemoveQueuedMessage: st.builds(RemoveQueuedMessage, id=QUEUED),
    SwitchMode: st.builds(SwitchMode, text=st.sampled_from(("ask", "code", "nothing"))),
    SetPermissionMode: st.builds(SetPermissionMode, permission_mode=st.sampled_from(PermissionMode)),
    CondenseContext: st.builds(CondenseContext),
    CondensePreviewRequest: st.builds(CondensePreviewRequest),
    RestoreContext: st.builds(RestoreContext),
    PinTurn: st.builds(PinTurn, turn=st.sampled_from((0, 1, 99)), is_pinned=st.booleans()),
    ContextRequest: st.builds(ContextRequest),
    RetryNow: st.builds(RetryNow),
    RunSlashCommand: st.builds(RunSlashCommand, line=st.just("/help")),
    ListSlashCommands: st.builds(ListSlashCommands),
    CompletePrompt: st.builds(CompletePrompt, text=st.just("@"), caret=st.just(1)),
    ListRewindPoints: st.builds(ListRewindPoints),
    ShowRewindDiff: st.builds(ShowRewindDiff, number=NUMBERS),
    OlderRowsRequest: st.builds(OlderRowsRequest, before_ts=st.sampled_from((None, 1)), limit=st.sampled_from((-1, 5))),
    RewindTo: st.builds(
        RewindTo,
        number=NUMBERS,
        scope=st.sampled_from(RewindScope),
        is_preview=st.booleans(),
        state=st.sampled_from(("", "another")),
    ),
    UndoRewind: st.builds(UndoRewind),
    RedoRewind: st.builds(RedoRewind),
    UnknownCommand: st.builds(UnknownCommand, problem=st.just("unknown command 'x'")),
}
# What drives a task on, chosen as often as everything else together.
DRIVING = (NewTask, AskResponse, AskResponse, QueueMessage, CancelTask, ClearTask)
COMMAND = st.sampled_from((*COMMANDS, *DRIVING * (len(COMMANDS) // len(DRIVING)))).flatmap(COMMANDS.__getitem__)
STEP = st.one_of(
    st.sampled_from(WORDS).map(lambda words: (words,)),
    COMMAND.map(lambda command: (command,)),
    st.lists(COMMAND, min_size=2, max_size=4).map(tuple),
)
BEGIN, REOPEN = NewTask(text="begin"), "reopen"
# How a session gets into every kind of state: commands that are accepted, and what the model says.
BEGINNINGS: dict[str, tuple[Command | str, ...]] = {
    "no task": (),
    "a request": (BEGIN,),
    "half a reply": (BEGIN, "some words"),
    "a question": (BEGIN, "question"),
    "an approval": (BEGIN, "write"),
    "a completed task": (BEGIN, "an answer"),
    "an ended task": (BEGIN, "an answer", AskResponse(answer=Approve())),
    "a failed request": (BEGIN, "refuse"),
    "a pause before a retry": (BEGIN, "be busy"),
    "an interrupted task": (BEGIN, "look", CancelTask()),
    "too many mistakes": (BEGIN, *("invalid call",) * 3),
    "a queued message": (BEGIN, QueueMessage(text="later", after_turn=True), QueueMessage(text="soon")),
    "a subtask": (BEGIN, "delegate"),
    "a subtask with half a reply": (BEGIN, "delegate", "some words"),
    "an approval in a subtask": (BEGIN, "delegate", "write"),
    "a failed request of a subtask": (BEGIN, "delegate", "refuse"),
    "a resumed request": (BEGIN, "some words", REOPEN),
    "a resumed approval": (BEGIN, "write", REOPEN),
    "a resumed subtask": (BEGIN, "delegate", "question", REOPEN),
    "a resumed completion": (BEGIN, "an answer", REOPEN),
}
# Each of these is tried in each of those states.
TRIED: tuple[Command, ...] = (
    BEGIN,
    NewTask(text="x", mode="nothing"),
    NewTask(text=" "),
    AskResponse(answer=Approve()),
    AskResponse(answer=Reject()),
    AskResponse(answer=Say(text="words")),
    AskResponse(answer=Approve(), ts=1),
    QueueMessage(text="words"),
    QueueMessage(text="words", after_turn=True),
    EditQueuedMessage(id=FIRST_QUEUED, text=" "),
    CancelTask(),
    ClearTask(),
    SwitchMode(text="ask"),
    CondenseContext(),
    RewindTo(number=1, scope=RewindScope.CONVERSATION),
)
QUIET = frozenset({AgentState.NO_TASK, AgentState.IDLE, AgentState.WAITING_FOR_INPUT, AgentState.RESUMABLE})


def test_every_command_of_the_protocol_takes_part() -> None:
    assert set(COMMANDS) == set(get_args(Command))


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_each_command_in_each_state_is_accepted_or_changes_nothing(tmp_path: Path, beginning: str) -> None:
    async def story(stage: GatedSession) -> None:
        sent = Sent()
        await begin(stage, sent, beginning)
        for command in TRIED:
            [receipt] = await take(stage, sent, (command,))
            check(stage, sent)
            if isinstance(receipt, Accepted):
                await reached(stage, ClearTask())
                await empty_queue(stage, sent)
                await begin(stage, sent, beginning)

    with_gated_session(tmp_path, story)


@pytest.mark.slow
@settings(max_examples=80)
@given(st.sampled_from(tuple(BEGINNINGS)), st.lists(STEP, min_size=1, max_size=6))
def test_any_commands_are_answered_and_leave_a_session_that_goes_on(
    beginning: str, steps: list[tuple[Any, ...]]
) -> None:
    async def story(stage: GatedSession) -> None:
        sent = Sent()
        await stage.settle()
        await begin(stage, sent, beginning)
        for step in steps:
            await take(stage, sent, step)
            check(stage, sent)
        await visit_every_state(stage, sent)
        check(stage, sent)

    with tempfile.TemporaryDirectory() as place:
        with_gated_session(Path(place), story)


class Sent:
    """The words of the user that were accepted, each with a number of its own, and those that were taken back."""

    def __init__(self) -> None:
        self.count = 0
        self.accepted: set[str] = set()
        self.taken_back: set[str] = set()

    def numbered(self, text: str) -> str:
        self.count += 1
        return f"{text} no. {self.count}" if text.strip() else text


async def begin(stage: GatedSession, sent: Sent, beginning: str) -> None:
    for step in BEGINNINGS[beginning]:
        if step == REOPEN:
            tell("the session is closed and resumed")
            await stage.reopen()
        else:
            receipts = await take(stage, sent, (step,))
            assert all(isinstance(receipt, Accepted) for receipt in receipts), (step, receipts)
        check(stage, sent)


async def take(stage: GatedSession, sent: Sent, step: tuple[Any, ...]) -> list[Receipt]:
    if isinstance(step[0], str):
        tell(f"the model says: {step[0]}")
        await stage.model_says(step[0])
        return []
    commands = [
        msgspec.structs.replace(filled_in(stage, sent, command), request_id=f"r{number}")
        for number, command in enumerate(step)
    ]
    before, queue = everything(stage), {each.id: each.text for each in stage.session.state().message_queue}
    receipts = await stage.submit_all(*commands)
    for command, receipt in zip(commands, receipts, strict=True):
        assert receipt.request_id == command.request_id
        tell(f"{encode(command).decode()} -> {encode(receipt).decode()}")
        if isinstance(receipt, Accepted) and isinstance(command, QueueMessage | EditQueuedMessage):
            sent.accepted.add(command.text)
        if isinstance(receipt, Accepted) and isinstance(command, EditQueuedMessage | RemoveQueuedMessage):
            sent.taken_back.add(queue.get(command.id, ""))
    assert not [receipt for receipt in receipts if isinstance(receipt, Refused) and receipt.code == "internal_error"]
    if all(isinstance(receipt, Refused) for receipt in receipts):
        assert everything(stage) == before, (commands, receipts)
    return receipts


def tell(what: str) -> None:
    """Show the step if the test fails."""
    (note if currently_in_test_context() else print)(what)


def filled_in(stage: GatedSession, sent: Sent, command: Command) -> Command:
    """The command with what only the running session knows, and words that nothing else has."""
    if isinstance(command, AskResponse) and command.ts == OPEN_ASK:
        return msgspec.structs.replace(command, ts=stage.tracker.info.last_message_ts)
    if isinstance(command, QueueMessage | EditQueuedMessage):
        command = msgspec.structs.replace(command, text=sent.numbered(command.text))
    queue = stage.session.state().message_queue
    if isinstance(command, EditQueuedMessage | RemoveQueuedMessage) and command.id == FIRST_QUEUED and queue:
        return msgspec.structs.replace(command, id=queue[0].id)
    return command


def everything(stage: GatedSession) -> tuple[bytes, bytes, int]:
    """All that a refused command could have changed: the state, the log, what clients were told."""
    return encode(stage.session.state()), stage.opened.log.path.read_bytes(), len(stage.seen)


def check(stage: GatedSession, sent: Sent) -> None:
    """Nothing moves now, so nothing may look as if it did, except a request that waits for the model."""
    state, live = stage.state, stage.session.state()
    assert not stage.unhandled
    check_numbers(stage.seen)
    assert stage.tracker.info == detect_agent_state(live.cline_messages)
    is_waiting_for_model = stage.model.is_asked or bool(stage.rows and stage.rows[-1].say == "api_req_retry_delayed")
    assert state in QUIET or (state is AgentState.STREAMING and is_waiting_for_model), (state, stage.rows[-3:])
    assert not (state in QUIET and is_waiting_for_model)
    logged = stage.logged()
    assert logged.queue == live.message_queue
    assert logged.header is None or logged.header.permission_mode == live.permission_mode
    if live.current_task_id is not None and state in QUIET:
        task = logged.tasks[live.current_task_id]
        assert task.messages == tuple(live.cline_messages) == tuple(stage.tracker.messages)
        has_ended = state is AgentState.IDLE and stage.ask is None
        # The end of an earlier process stays in the log until the task is resumed.
        assert stage.ask in RESUME_ASKS or (task.outcome is not None) == has_ended, (task.outcome, stage.ask)
        assert stage.session.is_idle == (state is not AgentState.WAITING_FOR_INPUT)
    written = [payload_of(record) for record in load(stage.opened.log.path).records]
    if stage.ask not in RESUME_ASKS:
        check_tasks(logged, live.current_task_id, written)
    check_words(stage, sent, written)


def check_numbers(seen: Sequence[Event]) -> None:
    """Each event has the next number. Deltas may have been joined, and a subscription opens with the number so far."""
    numbers = [(event.seq, isinstance(event, TextDelta | PartialMessage | State)) for event in seen]
    steps = [(after - before, may_jump) for (before, _), (after, may_jump) in pairwise(numbers)]
    assert all(step == 1 or may_jump for step, may_jump in steps), steps


def check_tasks(logged: SessionFold, shown: str | None, written: Sequence[Payload | None]) -> None:
    """Only the task that is shown and its parents may be open; in all others nothing may look as if it went on.

    The rows are as they were written: to replay them closes what looks open.
    """
    rows = {p.message.ts: (p.task_id, p.message) for p in written if isinstance(p, MessageRecord)}
    assert not [row for _, row in rows.values() if "bug in Robota" in (row.text or "")]
    is_open = set()
    while shown is not None:
        is_open.add(shown)
        shown = logged.tasks[shown].parent_task_id
    endless = [task_id for task_id, task in logged.tasks.items() if task_id not in is_open and task.outcome is None]
    assert not endless, f"never ended: {endless}"
    running = [row for task_id, row in rows.values() if task_id not in is_open and (row.partial or is_unfinished(row))]
    assert not running, f"say running for ever: {running}"


def is_unfinished(row: Message) -> bool:
    """Whether the row is a request that looks as if the model was still answering."""
    return is_request_row(row) and detect_agent_state([row]).is_streaming


def check_words(stage: GatedSession, sent: Sent, written: Sequence[Payload | None]) -> None:
    """Words of the user that were accepted are there once: queued, or said."""
    queued = Counter(each.text for each in stage.session.state().message_queue)
    rows = {p.message.ts: p.message for p in written if isinstance(p, MessageRecord)}
    said = Counter(row.text for row in rows.values() if row.say == "user_feedback")
    answered = Counter(p.text for p in written if isinstance(p, AnswerRecord))
    for text in sent.accepted:
        times = (queued[text], said[text], answered[text])
        assert max(times) <= 1 and not (queued[text] and said[text]), (text, times)
        assert any(times) or text in sent.taken_back, f"lost: {text}"


async def visit_every_state(stage: GatedSession, sent: Sent) -> None:
    """Whatever happened before, every state can be reached."""
    assert await reached(stage, ClearTask()) is AgentState.NO_TASK
    await reached(stage, SetPermissionMode(permission_mode=PermissionMode.DEFAULT))
    await empty_queue(stage, sent)
    assert await reached(stage, NewTask(text="go", mode="code")) is AgentState.STREAMING
    await stage.model_says("question")
    assert stage.ask == "followup"
    assert await reached(stage, CancelTask()) is AgentState.RESUMABLE
    assert await reached(stage, AskResponse(answer=Approve())) is AgentState.STREAMING
    await stage.model_says("refuse")
    assert stage.ask == "api_req_failed"
    assert await reached(stage, AskResponse(answer=Approve())) is AgentState.STREAMING
    await stage.model_says("an answer")
    assert stage.ask == "completion_result"
    assert await reached(stage, AskResponse(answer=Approve())) is AgentState.IDLE


async def empty_queue(stage: GatedSession, sent: Sent) -> None:
    for queued in stage.session.state().message_queue:
        await take(stage, sent, (RemoveQueuedMessage(id=queued.id),))


async def reached(stage: GatedSession, command: Command) -> AgentState:
    """The state after a command that must be accepted."""
    receipt = await stage.submit(command)
    assert isinstance(receipt, Accepted), receipt
    return stage.state
