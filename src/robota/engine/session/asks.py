"""Questions that wait for an answer: a table of futures. The first valid answer wins."""

import asyncio

import msgspec

from robota.protocol.asks.answer import Answer
from robota.protocol.asks.seed import UnknownResponse, answer_in
from robota.protocol.commands import Accepted, AskResponse, CondenseContext, Receipt, Refused
from robota.protocol.message import Message


class PendingAsk(msgspec.Struct, frozen=True, kw_only=True):
    """An ask that waits. `takes_commands` if it can be interrupted by a command, after which it is asked again."""

    message: Message
    future: asyncio.Future[Answer | CondenseContext]
    takes_commands: bool = False

    @property
    def is_settled(self) -> bool:
        """Whether something has come for it that the task has not taken yet."""
        return self.future.done()


class AskTable:
    """The asks that wait now. More than one only if tasks are nested."""

    def __init__(self) -> None:
        self._pending: dict[int, PendingAsk] = {}

    @property
    def newest(self) -> PendingAsk | None:
        return next(reversed(self._pending.values()), None)

    async def wait(self, message: Message, *, takes_commands: bool = False) -> Answer | CondenseContext:
        """Wait for what comes for this ask. However the wait ends, the ask is then no longer answerable."""
        future: asyncio.Future[Answer | CondenseContext] = asyncio.get_running_loop().create_future()
        self._pending[message.ts] = PendingAsk(message=message, future=future, takes_commands=takes_commands)
        try:
            return await future
        finally:
            self._pending.pop(message.ts, None)

    def answer(self, command: AskResponse) -> Receipt:
        """Hand an answer to the ask it names, or refuse it and change nothing."""
        try:
            answer = answer_in(command)
        except UnknownResponse as unknown:
            return Refused(code="unknown_response", message=str(unknown))
        pending = self.newest if command.ts is None else self._pending.get(command.ts)
        if pending is None or pending.is_settled:
            return Refused(code="stale_ask", message=_why_stale(command.ts, self.newest))
        pending.future.set_result(answer)
        return Accepted(id=str(pending.message.ts))


def _why_stale(ts: int | None, newest: PendingAsk | None) -> str:
    if ts is None or newest is None:
        return "Nothing is being asked now; the answer changed nothing."
    return f"The ask {ts} is not pending (now pending: {newest.message.ts}); the answer changed nothing."
