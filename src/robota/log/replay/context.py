"""What a model is shown of a task's turns: a fold over turns, condensations and truncations. Nothing is deleted."""

from collections.abc import Sequence

import msgspec

from robota.log.kinds.conversation import CondenseRecord, TruncateRecord
from robota.log.replay.pairing import mend, unanswered
from robota.protocol.conversation import AssistantTurn, Turn

Reduction = CondenseRecord | TruncateRecord


class Reduced(msgspec.Struct, frozen=True, kw_only=True):
    """A reduction and how many turns had been recorded before it."""

    after: int
    reduction: Reduction


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded turn with its number; or what a reduction put in place of some, with the number of the first."""

    number: int
    turn: Turn
    reduction: Reduction | None = None


class Conversation:
    """The visible pieces of a task, and the valid history that they make.

    Numbers never change, so a reduction that is dropped later leaves the meaning of all others as it was.
    """

    def __init__(self) -> None:
        self.recorded = 0
        self.pieces: list[Piece] = []
        self.turns: list[Turn] = []

    def add(self, turn: Turn) -> int:
        """Take in the next turn. Returns how many turns before it are still the same objects.

        The calls of a reply stay open until the next turn of the user.
        """
        number, known = self.recorded, len(self.turns)
        self.recorded += 1
        if not turn.content:
            return known
        self.pieces.append(Piece(number=number, turn=turn))
        is_reply = isinstance(turn, AssistantTurn)
        if is_reply and not (known and isinstance(self.turns[-1], AssistantTurn)):
            self.turns.append(turn)
            return known
        # Only the newest pair can need a change, so the cost does not grow with the conversation.
        newest = self.turns[-2:]
        mended = mend([*newest, turn], trusted=len(newest)).turns
        is_same = not newest or mended[len(newest) - 1] is newest[-1]
        kept = known if is_same else known - 1
        added = mended[len(newest) - (known - kept) :]
        self.turns[kept:] = added[:-1] if is_reply and unanswered(turn) else added
        return kept

    def reduce(self, reduction: Reduction) -> None:
        """Show what the reduction puts there instead of the turns that it hides."""
        before = [piece for piece in self.pieces if piece.number < reduction.first]
        after = [piece for piece in self.pieces if piece.number >= reduction.end]
        put = Piece(number=reduction.first, turn=reduction.put, reduction=reduction)
        self.pieces = [*before, put, *after]
        self.turns = list(mend([piece.turn for piece in self.pieces]).turns)


def conversation_of(turns: Sequence[Turn], reductions: Sequence[Reduced]) -> Conversation:
    """The conversation of a task that nobody runs now: calls that were left open are closed."""
    conversation = Conversation()
    waiting = list(reductions)
    for number, turn in enumerate(turns):
        while waiting and waiting[0].after <= number:
            conversation.reduce(waiting.pop(0).reduction)
        conversation.add(turn)
    for reduced in waiting:
        conversation.reduce(reduced.reduction)
    conversation.turns = list(mend(conversation.turns).turns)
    return conversation


def reduction_id(reduction: Reduction) -> str:
    return reduction.condense_id if isinstance(reduction, CondenseRecord) else reduction.truncation_id
