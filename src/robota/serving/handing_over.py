"""Hand a session over to a process without a terminal, at a moment at which nothing is cut off or made twice."""

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec

from robota.app.session import OpenSession
from robota.clients.terminal.signals import signals_to
from robota.config.launch_options import LaunchOptions
from robota.protocol.asks.ask import ApprovalAsk, ElicitationAsk, QuestionAsk
from robota.protocol.commands import CancelTask
from robota.protocol.connection.message_processor import MessageProcessor
from robota.protocol.events import PartialMessage, TextDelta, ToolCallDelta
from robota.protocol.state import AgentState, detect_agent_state

WAITING: Final = (
    "The session goes on without this terminal as soon as what runs now has ended. Ctrl+C stops that, and leaves."
)
# Asked about a command that has run already.
AFTER_A_RUN: Final = "sandbox"
RESUME: Final = "resume_task"


class HandedOver(msgspec.Struct, frozen=True, kw_only=True):
    """A session that is closed here and continues elsewhere, as `launch` says.

    If it `goes_on`, its task works on, or asks again what it asked; otherwise it waits for the user.
    """

    session_id: str
    goes_on: bool
    launch: LaunchOptions


async def ready_to_hand_over(opened: OpenSession, tell: Callable[[str], None]) -> HandedOver:
    """Wait for such a moment. The session must be closed before anything else happens in it."""
    goes_on = await _moment(opened, tell)
    state, launch = opened.session.state(), opened.options.launch
    continued = msgspec.structs.replace(
        launch,
        provider=opened.options.provider_name or launch.provider,
        model=opened.options.model,
        permission_mode=state.permission_mode,
        # What the user allowed in this session holds in it wherever it runs.
        allowed_tools=(*launch.allowed_tools, *opened.session.grants),
        mode=None,
        name=None,
        session_id=None,
    )
    return HandedOver(session_id=opened.options.session_id, goes_on=goes_on, launch=continued)


async def _moment(opened: OpenSession, tell: Callable[[str], None]) -> bool:
    """Return at the first safe moment: whether the task goes on from it."""
    session, processor = opened.session, MessageProcessor()
    was_stopped, has_told = False, False

    def stop() -> None:
        nonlocal was_stopped
        was_stopped = True
        stopping.append(asyncio.ensure_future(session.submit(CancelTask())))

    stopping: list[asyncio.Future[object]] = []
    was_working = session.is_working
    session.pause()
    with signals_to(lambda number: stop()):
        async for event in session.events():
            for _ in processor.process(event):
                pass
            if isinstance(event, TextDelta | PartialMessage | ToolCallDelta):
                continue
            if _asks_before_a_call(processor):
                return True
            if session.is_idle and not session.is_gathering:
                # The rows of the session are ahead of the events that were read so far.
                is_paused = detect_agent_state(session.state().cline_messages).current_ask == RESUME
                return was_working and is_paused and not was_stopped
            if not has_told:
                tell(WAITING)
                has_told = True
    return False


def _asks_before_a_call(processor: MessageProcessor) -> bool:
    """Whether the agent asks something that it can ask again elsewhere, because nothing of the call was done yet."""
    pending, state = processor.store.pending, processor.store.agent_state.state
    if pending is None or state is not AgentState.WAITING_FOR_INPUT:
        return False
    match pending.ask:
        case ApprovalAsk(verdict=verdict):
            return verdict.rule != AFTER_A_RUN
        case ElicitationAsk():
            return False
        case QuestionAsk():
            return True
        case _:
            return False
