"""The conversation with the model: append only, always valid to send, each turn prepared once."""

from collections.abc import Sequence, Set
from typing import Final, Protocol, assert_never

import msgspec

from robota.engine.record.journal import Journal
from robota.log.kinds.calls import ResultRecord
from robota.log.kinds.conversation import PinRecord, Reduction, RestoreRecord, TurnRecord
from robota.log.replay.context import ContextFold, ModelContext, Piece, interrupted_result, unanswered
from robota.protocol.conversation import (
    AssistantBlock,
    AssistantTurn,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    Turn,
    UserBlock,
    UserTurn,
)

# About what an image costs, whatever the length of its data.
IMAGE_CHARACTERS: Final = 6_000


class TurnFormat(Protocol):
    """The part of a call format that the history uses."""

    def outgoing(self, turn: Turn) -> Turn:
        """A turn of the history as the model is shown it. Called once per turn."""
        ...


class History:
    """The turns of one task. Only the newest pair is checked, because older ones cannot change."""

    def __init__(
        self,
        task_id: str,
        journal: Journal,
        turn_format: TurnFormat,
        conversation: ModelContext | None = None,
    ) -> None:
        """`conversation` is that of a resumed task."""
        self._task_id = task_id
        self._journal = journal
        self._turn_format = turn_format
        self._conversation = conversation or ModelContext()
        self._outgoing: list[Turn] = []
        self._sizes: list[int] = []
        self.characters = 0  # of all that is sent
        self._prepare(0)

    @property
    def turns(self) -> Sequence[Turn]:
        return self._conversation.turns

    @property
    def pieces(self) -> Sequence[Piece]:
        """The pieces of the conversation, with the numbers by which reductions refer to turns."""
        return self._conversation.fold.pieces

    @property
    def recorded(self) -> int:
        """How many turns were ever recorded."""
        return self._conversation.fold.recorded

    @property
    def last_call_number(self) -> int:
        """The highest number in a call id that we generated (`call_7`), among the turns sent to the model."""
        ids = (call.id.removeprefix("call_") for turn in self.turns for call in unanswered(turn))
        return max((int(number) for number in ids if number.isascii() and number.isdecimal()), default=0)

    @property
    def awaits_reply(self) -> bool:
        """Whether the last turn is the user's, so that the model replies next."""
        return bool(self.turns) and isinstance(self.turns[-1], UserTurn)

    @property
    def prepared(self) -> tuple[Turn, ...]:
        """The turns as they are sent, without closing the calls of the last reply."""
        return tuple(self._outgoing)

    def outgoing(self) -> tuple[Turn, ...]:
        """The turns to send: every tool call has a result, and the last turn is the user's."""
        self.close_calls()
        return tuple(self._outgoing)

    def add_reply(self, turn: AssistantTurn) -> None:
        """Add a reply of the model; its calls stay open until their results are added."""
        self._add(turn)

    def is_open(self, call_id: str) -> bool:
        """Whether this is a call of the last reply that has no result yet."""
        calls = unanswered(self.turns[-1] if self.turns else None)
        return call_id in {call.id for call in calls} - self._kept_calls

    def keep_result(self, result: ToolResultBlock) -> None:
        """Log the result of a call while others of the same reply still run, so that a crash does not lose it."""
        self._journal.write(ResultRecord(task_id=self._task_id, result=result))
        self._conversation.fold.results.append(result)

    def add_user(self, content: Sequence[UserBlock]) -> None:
        """Add results or text. Open calls without a result get one that says they were interrupted."""
        if content or self._conversation.fold.results:
            kept = self._kept_calls
            self._add(UserTurn(content=tuple(block for block in content if _call_answered_by(block) not in kept)))

    def close_calls(self) -> None:
        """Add an interrupted result to every open call."""
        last, kept = self.turns[-1] if self.turns else None, self._kept_calls
        self.add_user([interrupted_result(call.id) for call in unanswered(last) if call.id not in kept])

    @property
    def pins(self) -> Set[int]:
        """The numbers of the pinned turns, which no reduction removes."""
        return self._conversation.fold.pins

    def pin(self, turn: int, is_pinned: bool) -> None:
        """Pin or unpin a turn."""
        record = PinRecord(task_id=self._task_id, turn=turn, is_pinned=is_pinned)
        self._journal.write(record)
        self._conversation.fold.take(record)

    def reduce(self, reduction: Reduction) -> None:
        """Apply a reduction. It is one record, so a crash cannot leave it half done."""
        self._journal.write(reduction)
        prepared = {id(turn): sent for turn, sent in zip(self.turns, self._outgoing, strict=True)}
        self._conversation.reduce(reduction)
        self._prepare(0, prepared)

    @property
    def undoable(self) -> Sequence[str]:
        """The ids of the reductions that can be undone, the newest last."""
        return self._conversation.fold.undoable

    def without_reduction(self, identity: str, logged: ContextFold) -> ModelContext | None:
        """The conversation with that reduction undone; `logged` is what the log has of the task without it.

        None if the log does not have everything. Turns that are sent now stay the same objects.
        """
        fold = self._conversation.fold
        if logged.recorded != fold.recorded or logged.reduction_ids.keys() != fold.reduction_ids.keys() - {identity}:
            return None
        sent = {piece.number: piece for piece in self.pieces if piece.reduction is None and not piece.cuts}
        is_sent = (piece.reduction is None and not piece.cuts and piece.number in sent for piece in logged.pieces)
        pieces = [sent[piece.number] if same else piece for piece, same in zip(logged.pieces, is_sent, strict=True)]
        restored = msgspec.structs.replace(logged, pieces=pieces, pins=fold.pins, results=fold.results)
        return ModelContext(restored)

    def restore(self, identity: str, restored: ModelContext) -> None:
        """Undo a reduction; `restored` is the conversation without it."""
        self._journal.write(RestoreRecord(task_id=self._task_id, id=identity))
        prepared = {id(turn): sent for turn, sent in zip(self.turns, self._outgoing, strict=True)}
        self._conversation = restored
        self._prepare(0, prepared)

    def _add(self, turn: Turn) -> None:
        # The log gets the turn unrepaired: reading it repairs it in the same way, and nothing is written twice.
        self._journal.write(TurnRecord(task_id=self._task_id, turn=turn))
        self._prepare(self._conversation.add(turn))

    @property
    def _kept_calls(self) -> set[str]:
        return {result.tool_use_id for result in self._conversation.fold.results}

    def _prepare(self, kept: int, prepared: dict[int, Turn] | None = None) -> None:
        """Prepare the turns from index `kept` on; a turn prepared before stays the same object for the wire."""
        self.characters -= sum(self._sizes[kept:])
        del self._outgoing[kept:], self._sizes[kept:]
        for turn in self.turns[kept:]:
            sent = (prepared or {}).get(id(turn)) or self._turn_format.outgoing(turn)
            self._outgoing.append(sent)
            self._sizes.append(characters_of(turn))
        self.characters += sum(self._sizes[kept:])


def _call_answered_by(block: UserBlock) -> str | None:
    return block.tool_use_id if isinstance(block, ToolResultBlock) else None


def characters_of(turn: Turn) -> int:
    """The length of a turn, for the estimate of its tokens."""
    return sum(map(characters_of_block, turn.content))


def characters_of_block(block: AssistantBlock | UserBlock) -> int:
    """The length of a block; an image counts as a fixed number of characters."""
    match block:
        case TextBlock():
            return len(block.text)
        case ToolResultBlock():
            return len(block.content) + IMAGE_CHARACTERS * len(block.images)
        case ToolUseBlock():
            return len(block.name) + len(repr(block.input))
        case ThinkingBlock():
            return len(block.thinking)
        case ImageBlock():
            return IMAGE_CHARACTERS
        case _:
            assert_never(block)
