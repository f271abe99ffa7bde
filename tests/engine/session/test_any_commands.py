"""Any commands at any time: each gets its receipt, a refused one changes nothing, and the rows tell the state."""

import tempfile
from pathlib import Path
from typing import Any, get_args

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from robota.protocol.asks.answer import Approve, ApproveEdited, ApproveHunks, ApproveInput, Reject, Say
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
)
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.rewind import RewindScope
from robota.protocol.state import AgentState, detect_agent_state
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
    TerminalOperation: st.builds(TerminalOperation, terminal_operation=st.sampled_from(("continue", "abort", "x"))),
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
}
COMMAND = st.one_of(*COMMANDS.values())
# What drives a task on, chosen as often as everything else together.
COMMON = st.one_of(COMMANDS[NewTask], COMMANDS[AskResponse], COMMANDS[QueueMessage], COMMANDS[CancelTask], COMMAND)
STEP = st.one_of(
    st.sampled_from(WORDS).map(lambda words: (words,)),
    st.lists(COMMON, min_size=1, max_size=1).map(tuple),
    st.lists(COMMON, min_size=2, max_size=4).map(tuple),
)
QUIET = frozenset({AgentState.NO_TASK, AgentState.IDLE, AgentState.WAITING_FOR_INPUT, AgentState.RESUMABLE})


def test_every_command_of_the_protocol_takes_part() -> None:
    assert set(COMMANDS) == set(get_args(Command))


@settings(max_examples=60)
@given(st.lists(STEP, min_size=1, max_size=14))
def test_any_commands_are_answered_and_leave_a_session_that_goes_on(steps: list[tuple[Any, ...]]) -> None:
    async def story(stage: GatedSession) -> None:
        await stage.settle()
        for step in steps:
            await take(stage, step)
            check(stage)
        await visit_every_state(stage)

    with tempfile.TemporaryDirectory() as place:
        with_gated_session(Path(place), story)


async def take(stage: GatedSession, step: tuple[Any, ...]) -> None:
    if isinstance(step[0], str):
        await stage.model_says(step[0])
        return
    commands = [filled_in(stage, command) for command in step]
    before = everything(stage)
    receipts = await stage.submit_all(*commands)
    assert not [receipt for receipt in receipts if isinstance(receipt, Refused) and receipt.code == "internal_error"]
    if all(isinstance(receipt, Refused) for receipt in receipts):
        assert everything(stage) == before, (commands, receipts)


def filled_in(stage: GatedSession, command: Command) -> Command:
    """The command with what only the running session knows."""
    if isinstance(command, AskResponse) and command.ts == OPEN_ASK:
        return msgspec.structs.replace(command, ts=stage.tracker.info.last_message_ts)
    queue = stage.session.state().message_queue
    if isinstance(command, EditQueuedMessage | RemoveQueuedMessage) and command.id == FIRST_QUEUED and queue:
        return msgspec.structs.replace(command, id=queue[0].id)
    return command


def everything(stage: GatedSession) -> tuple[bytes, bytes, int]:
    """All that a refused command could have changed: the state, the log, what clients were told."""
    return encode(stage.session.state()), stage.opened.log.path.read_bytes(), len(stage.seen)


def check(stage: GatedSession) -> None:
    """Nothing moves now, so nothing may look as if it did, except a request that waits for the model."""
    state, live = stage.state, stage.session.state()
    assert stage.tracker.info == detect_agent_state(live.cline_messages)
    is_waiting_for_model = stage.model.is_asked or bool(stage.rows and stage.rows[-1].say == "api_req_retry_delayed")
    assert state in QUIET or (state is AgentState.STREAMING and is_waiting_for_model), (state, stage.rows[-3:])
    assert not (state in QUIET and is_waiting_for_model)
    logged = stage.logged()
    assert logged.queue == live.message_queue
    assert logged.permission_mode in (None, live.permission_mode)
    if live.current_task_id is not None and state in QUIET:
        task = logged.tasks[live.current_task_id]
        assert task.messages == tuple(live.cline_messages)
        has_ended = state is AgentState.IDLE and stage.ask is None
        assert (task.outcome is not None) == has_ended, (task.outcome, stage.ask)
        assert stage.session.is_idle == (state is not AgentState.WAITING_FOR_INPUT)


async def visit_every_state(stage: GatedSession) -> None:
    """Whatever happened before, every state can be reached."""
    assert await reached(stage, ClearTask()) is AgentState.NO_TASK
    await reached(stage, SetPermissionMode(permission_mode=PermissionMode.DEFAULT))
    for queued in stage.session.state().message_queue:
        await reached(stage, RemoveQueuedMessage(id=queued.id))
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
    check(stage)


async def reached(stage: GatedSession, command: Command) -> AgentState:
    """The state after a command that must be accepted."""
    receipt = await stage.submit(command)
    assert isinstance(receipt, Accepted), receipt
    return stage.state
