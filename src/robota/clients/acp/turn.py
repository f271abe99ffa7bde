"""One prompt of an editor: when its turn is over, and why."""

import asyncio
from typing import Final, assert_never

from robota.clients.acp.asks import question_text
from robota.clients.acp.connection import INTERNAL_ERROR, RpcError
from robota.clients.view.model import OpenAsk, ViewModel
from robota.protocol.asks.ask import (
    ApprovalAsk,
    CompletionAsk,
    FailureAsk,
    LimitAsk,
    LimitKind,
    MistakesAsk,
    PlanAsk,
    QuestionAsk,
    ResumeAsk,
)
from robota.protocol.asks.kinds import NOTHING_TO_DO_ASKS

END_TURN: Final = "end_turn"
CANCELLED: Final = "cancelled"
MAX_REQUESTS: Final = "max_turn_requests"
# Why the model stopped, where the protocol has a word for it.
MODEL_STOPS: Final = {"max_tokens": "max_tokens", "refusal": "refusal"}


class Turn:
    """The turn that is running. It ends when the agent waits for the next prompt."""

    def __init__(self, newest_row: int | None) -> None:
        """`newest_row` is the last row before the prompt."""
        self._before = newest_row
        self._model_stop = ""
        self.is_cancelled = False
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def note_reply(self, stop_reason: str | None) -> None:
        """Note why the newest reply of the model ended."""
        self._model_stop = stop_reason or ""

    def end_at(self, view: ViewModel) -> str:
        """End the turn if the agent waits for the next prompt now. Returns what the user has to be told with it."""
        last, agent = view.rows.last(), view.agent
        is_new = last is not None and (self._before is None or last.ts > self._before)
        if self.ended.done() or last is None or not is_new or agent.current_ask not in NOTHING_TO_DO_ASKS:
            return ""
        ask = view.pending_ask
        return "" if ask is None or ask.message.ts != last.ts else self._end_with(ask)

    def end_with_question(self, asked: QuestionAsk) -> str:
        """End the turn with a question that the next prompt answers. Returns the question as text."""
        self.end(END_TURN)
        return question_text(asked)

    def end(self, reason: str) -> None:
        """End the turn, if it has not ended."""
        if not self.ended.done():
            self.ended.set_result(CANCELLED if self.is_cancelled else reason)

    def _end_with(self, ask: OpenAsk) -> str:
        match ask.asked:
            case FailureAsk(message=message, fault=fault) if not self.is_cancelled:
                data = None if fault is None else {"kind": fault.kind, "status": fault.status}
                self.ended.set_exception(RpcError(INTERNAL_ERROR, message, data))
                return ""
            case LimitAsk(limit=limit, count=count, text=text):
                self.end(MAX_REQUESTS)
                reached = f"{count:g} requests" if limit is LimitKind.REQUESTS else f"{count:.2f} US dollars"
                return f"{text or f'The limit of {reached} is reached.'} To continue for as much again, send a prompt."
            case MistakesAsk(message=message):
                self.end(END_TURN)
                return message
            case ResumeAsk(is_completed=False):
                self.end(CANCELLED)
                return ""
            case FailureAsk() | CompletionAsk() | ResumeAsk() | None:
                self.end(MODEL_STOPS.get(self._model_stop, END_TURN))
                return ""
            case ApprovalAsk() | QuestionAsk() | PlanAsk():
                return ""  # asked, not waited for
            case never:
                assert_never(never)
