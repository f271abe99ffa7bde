"""How a session answers commands: it decides first, and only then changes something, one command at a time."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, Generic, TypeVar

import msgspec

from robota.protocol.commands import Accepted, Command, Receipt, Refused
from robota.workspace.problems import shortage_behind

T = TypeVar("T")


class SessionChange(msgspec.Struct, Generic[T], frozen=True):
    """The command is accepted. `make` carries it out and cannot refuse it any more."""

    make: Callable[[], Awaitable[T]]


class ToolsNeeded(msgspec.Struct, frozen=True):
    """The command can be decided once the tools of MCP servers are known; `otherwise` refuses it if the user does not
    wait for them.
    """

    otherwise: Refused


Decision = Refused | ToolsNeeded | SessionChange[T]


class ChangeFailed(Exception):
    """A change could not be made. The refusal says what was left as it was."""

    def __init__(self, refusal: Refused) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class Changes:
    """Makes the changes of one session, one at a time, so that no other comes between a decision and its change."""

    def __init__(self, gather_tools: Callable[[], Awaitable[bool]]) -> None:
        """`gather_tools` returns False if the user did not wait for them."""
        self._gather_tools = gather_tools
        self._is_changing = asyncio.Lock()
        self._is_closed = False

    async def make(self, decide: Callable[[], Awaitable[Decision[T]]]) -> T | Refused:
        """Make the change that `decide` returns, or return its refusal. `decide` itself changes nothing."""
        while True:
            async with self._is_changing:
                decision = CLOSED if self._is_closed else await decide()
                match decision:
                    case Refused():
                        return decision
                    case SessionChange():
                        return await _made(decision)
            # Not while it is locked: the user may cancel the wait.
            if not await self._gather_tools():
                return decision.otherwise

    async def close(self) -> None:
        """Wait for the change that is being made, and refuse all others."""
        self._is_closed = True
        async with self._is_changing:
            pass


async def answered(command: Command, answer: Awaitable[Receipt]) -> Receipt:
    """The receipt of the command, also if a bug prevents it: a client that waits for one must get it."""
    try:
        receipt = await answer
    except Exception as error:  # noqa: BLE001 - a boundary: the client is told
        shortage = shortage_behind(error)
        message = f"{_described(error)} {A_BUG}" if shortage is None else f"{shortage} {THE_SESSION_GOES_ON}"
        receipt = Refused(code="internal_error", message=message)
    return receipt if command.request_id is None else msgspec.structs.replace(receipt, request_id=command.request_id)


def accepting(do: Callable[[], object], id: str | None = None) -> SessionChange[Accepted]:
    """A change that is made at once."""

    async def make() -> Accepted:
        do()
        return Accepted(id=id)

    return SessionChange(make)


def no_such_task(task_id: str) -> Refused:
    """The refusal of a command that names a task that is not open."""
    return Refused(code="no_such_task", message=f"There is no open task {task_id}. Nothing was changed.")


async def _made(change: SessionChange[T]) -> T | Refused:
    try:
        return await change.make()
    except ChangeFailed as failed:
        return failed.refusal


def _described(error: Exception) -> str:
    """The error and where it came from."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else f" ({Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno})"
    return f"The command failed: {type(error).__name__}: {error}{where}."


THE_SESSION_GOES_ON: Final = "The command may have done part of its work. The session continues."
A_BUG: Final = f"This is a bug in Robota. {THE_SESSION_GOES_ON}"
NO_TASK: Final = Refused(code="no_active_task", message="There is no task.")
CLOSED: Final = Refused(code="session_closed", message="The session is closed. Nothing was changed.")
