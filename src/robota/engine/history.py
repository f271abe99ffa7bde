"""The conversation with the model: append only, always valid to send, each turn prepared for the wire once."""

from collections.abc import Sequence

from robota.engine.dialect import Dialect
from robota.engine.journal import Journal
from robota.log.kinds import TurnRecord
from robota.log.pairing import interrupted_result, mend, unanswered
from robota.protocol.conversation import AssistantTurn, Turn, UserBlock, UserTurn


class History:
    """Turns of one task. Only the newest pair is ever checked, because older ones cannot change."""

    def __init__(self, task_id: str, journal: Journal, dialect: Dialect, turns: Sequence[Turn] = ()) -> None:
        self._task_id = task_id
        self._journal = journal
        self._dialect = dialect
        self._turns: list[Turn] = list(mend(turns).turns)
        self._outgoing: list[Turn] = [dialect.outgoing(turn) for turn in self._turns]

    @property
    def turns(self) -> Sequence[Turn]:
        return self._turns

    @property
    def awaits_reply(self) -> bool:
        """Whether the model is the one to speak next."""
        return bool(self._turns) and isinstance(self._turns[-1], UserTurn)

    def outgoing(self) -> tuple[Turn, ...]:
        """What to send: every tool call has its result, and the person or a tool spoke last."""
        self.close_calls()
        return tuple(self._outgoing)

    def add_reply(self, turn: AssistantTurn) -> None:
        """Add what the model said; its calls stay open until their results are added."""
        self._journal.write(TurnRecord(task_id=self._task_id, turn=turn))
        self._turns.append(turn)
        self._outgoing.append(self._dialect.outgoing(turn))

    def add_user(self, content: Sequence[UserBlock]) -> None:
        """Add results or words. Open calls without a result among them are answered as interrupted."""
        if content:
            self._append_user(UserTurn(content=tuple(content)))

    def close_calls(self) -> None:
        """Answer calls that were left open, as after an interruption."""
        last = self._turns[-1] if self._turns else None
        self.add_user([interrupted_result(call.id) for call in unanswered(last)])

    def _append_user(self, turn: UserTurn) -> None:
        # The log gets the turn as it came: reading mends it in the same way, and nothing is written twice.
        self._journal.write(TurnRecord(task_id=self._task_id, turn=turn))
        known = len(self._turns)
        mended = mend([*self._turns, turn], trusted=known).turns
        kept = known if not known or mended[known - 1] is self._turns[-1] else known - 1
        del self._turns[kept:], self._outgoing[kept:]
        for fresh in mended[kept:]:
            self._turns.append(fresh)
            self._outgoing.append(self._dialect.outgoing(fresh))
