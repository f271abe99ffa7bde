"""The answers that a question of the model offers, and which of them an arrow has chosen."""

import msgspec

from robota.clients.tui.flows.selection import Selection
from robota.protocol.asks.ask import QuestionAsk


class OfferedAnswers(msgspec.Struct, frozen=True, kw_only=True):
    """The question that is open, and its answers; nothing is chosen until an arrow was pressed."""

    asked: QuestionAsk
    ts: int
    rows: Selection

    def moved(self, by: int) -> "OfferedAnswers":
        """With the answer chosen that is so many rows further down."""
        return msgspec.structs.replace(self, rows=self.rows.moved(by))

    @property
    def chosen(self) -> str | None:
        """The answer that Enter gives."""
        return None if self.rows.index is None else self.asked.suggestions[self.rows.index].answer


def offered_answers(asked: QuestionAsk, ts: int, before: OfferedAnswers | None) -> OfferedAnswers | None:
    """The answers to the open question, as they were `before` if it is the same; None if it offers none."""
    if not asked.suggestions:
        return None
    if before is not None and before.ts == ts:
        return before
    count = len(asked.suggestions)
    return OfferedAnswers(asked=asked, ts=ts, rows=Selection(count=count, index=None, height=count))
