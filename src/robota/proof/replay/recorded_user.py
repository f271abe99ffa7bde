"""The user of a recording: sends the recorded prompts and answers to the replayed session."""

import asyncio
from collections.abc import Callable

from robota.proof.replay.recording import Leg, Order, RecordedAnswer
from robota.proof.replay.recording_fold import COMPLETION, FAILED
from robota.protocol.asks.answer import Answer, Approve, Reject, Say
from robota.protocol.asks.kinds import NOTHING_TO_DO_ASKS, is_non_blocking_ask
from robota.protocol.commands import AskResponse, CondenseContext, NewTask, Refused
from robota.protocol.events import MessageCreated, MessageUpdated, SessionState, State, TaskAborted, TaskEnded
from robota.protocol.message import Message
from robota.protocol.port import SessionPort


class RecordedUser:
    """Drives a session to the end of a leg. `trouble` says why it stopped before that, if it did."""

    def __init__(
        self, session: SessionPort, leg: Leg, replies_given: Callable[[], int], patience_s: float | None = None
    ) -> None:
        """`patience_s` is how long to wait for the next event before giving up."""
        self._patience_s = patience_s
        self._session = session
        self._leg = leg
        self._replies_given = replies_given
        self._answers = list(leg.answers)
        self._condensings = list(leg.condensed_at)
        self._prompted = 0
        self._answered: set[int] = set()
        self._task = ""
        self._answers_to_calls: dict[str | None, Answer] = {}
        self.trouble = ""

    async def drive(self) -> None:
        """Send prompts and answers until none is left."""
        is_begun = False
        events = aiter(self._session.events())
        while True:
            try:
                event = await asyncio.wait_for(anext(events), self._patience_s)
            except StopAsyncIteration:
                return
            except TimeoutError:
                self.trouble = "nothing happened any more"
                return
            if isinstance(event, State) and not is_begun:
                is_begun = await self._begin(event.state)
                if not is_begun:
                    return
            if isinstance(event, MessageCreated | MessageUpdated) and not await self._answer(event.message):
                return
            is_over = isinstance(event, TaskAborted | TaskEnded) and event.task_id == self._task
            if is_over and not await self._next_prompt():
                return

    async def give_orders(self, reply: int, kind: type[Order]) -> None:
        """Send the commands that the user sent while this reply was streamed or its calls ran."""
        for order in [order for order in self._leg.orders.get(reply, ()) if isinstance(order, kind)]:
            self._leg.orders[reply].remove(order)
            await self._session.submit(order)

    async def _begin(self, state: SessionState) -> bool:
        """Start the leg: with a new prompt, or with the answer to what was asked before it."""
        rows = state.cline_messages
        self._task = state.current_task_id or ""
        asked = {row.ts: row for row in rows if row.ask is not None and not row.is_answered}
        first = self._answers[0] if self._answers else None
        row = asked.get(first.ts) if first is not None else None
        if row is None and rows and rows[-1].ts in asked:
            row = rows[-1]
        if row is None:
            return await self._next_prompt()
        return await self._answer(row)

    async def _next_prompt(self) -> bool:
        if self._prompted >= len(self._leg.prompts):
            return False
        prompt = self._leg.prompts[self._prompted]
        self._prompted += 1
        order = NewTask(text=prompt.text, images=prompt.images, mode=prompt.mode or None)
        receipt = await self._session.submit(order)
        if isinstance(receipt, Refused):
            self.trouble = receipt.message
            return False
        self._task = receipt.id or ""
        return True

    async def _answer(self, row: Message) -> bool:
        """Answer an ask as recorded. If it was not answered, send the next prompt; False if there is none."""
        if row.ask is None or row.partial or row.is_answered or row.ts in self._answered:
            return True
        if is_non_blocking_ask(row.ask):
            return True
        self._answered.add(row.ts)
        if row.ask in (COMPLETION, FAILED) and self._replies_given() in self._condensings:
            self._condensings.remove(self._replies_given())
            await self._session.submit(CondenseContext())
            return True
        answer = self._answer_to(row)
        if answer is not None:
            await self._session.submit(AskResponse(answer=answer, ts=row.ts))
            return True
        if row.ask not in NOTHING_TO_DO_ASKS or (self._prompted >= len(self._leg.prompts) and row.ask != COMPLETION):
            self.trouble = f"it asked {row.ask}: {row.text or ''}"
            return False
        return await self._next_prompt()

    def _answer_to(self, row: Message) -> Answer | None:
        for number, answer in enumerate(self._answers):
            if (answer.kind, answer.call_id, answer.prompt) == (row.ask, row.call_id, self._prompted):
                del self._answers[number]
                self._answers_to_calls[row.call_id] = _answer_in(answer)
                return self._answers_to_calls[row.call_id]
        # A resumed process may ask about a call again in another form; it gets the same answer.
        return self._answers_to_calls.get(row.call_id) if row.call_id is not None else None


def _answer_in(recorded: RecordedAnswer) -> Answer:
    match recorded.response:
        case "yesButtonClicked":
            return Approve(text=recorded.text, images=recorded.images)
        case "noButtonClicked":
            return Reject(text=recorded.text, images=recorded.images)
        case _:
            return Say(text=recorded.text, images=recorded.images)
