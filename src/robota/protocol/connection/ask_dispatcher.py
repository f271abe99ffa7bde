"""`AskDispatcher`: hands each question of a session to a handler, once, and sends its answer."""

from collections.abc import Awaitable, Callable

from robota.protocol.asks.answer import Answer
from robota.protocol.asks.kinds import INTERACTIVE_ASKS
from robota.protocol.commands import AskResponse, Receipt
from robota.protocol.connection.state_store import StateStore, UnansweredAsk

# Returns the answer; None leaves the question open, to be answered by hand.
AskHandler = Callable[[UnansweredAsk], Awaitable[Answer | None]]
Submit = Callable[[AskResponse], Awaitable[Receipt]]


class AskDispatcher:
    """Routes questions. The ask at which a task has stopped is not one: a new prompt continues there."""

    def __init__(self, store: StateStore, submit: Submit, handler: AskHandler) -> None:
        self._store = store
        self._submit = submit
        self._handler = handler
        self._dispatched: int | None = None

    def due(self) -> UnansweredAsk | None:
        """The question that no handler was given yet."""
        pending = self._store.pending
        if pending is None or pending.message.ask not in INTERACTIVE_ASKS or pending.ts == self._dispatched:
            return None
        return pending

    async def dispatch(self) -> Receipt | None:
        """Let the handler answer the question that is due, if there is one. The first answer of all clients counts."""
        pending = self.due()
        if pending is None:
            return None
        self._dispatched = pending.ts
        answer = await self._handler(pending)
        return None if answer is None else await self._submit(AskResponse(answer=answer, ts=pending.ts))
