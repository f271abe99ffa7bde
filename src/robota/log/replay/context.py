"""The conversation that the model gets: reductions applied, every tool call followed by exactly one result."""

from collections.abc import Sequence
from enum import StrEnum
from itertools import count
from typing import Final, assert_never

import msgspec

from robota.log.kinds.conversation import CondenseRecord, CutRecord, PinRecord, Reduction, TruncateRecord
from robota.protocol.conversation import (
    AssistantTurn,
    ImageBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    Turn,
    UserBlock,
    UserTurn,
)

INTERRUPTED: Final = "The task was interrupted before this call finished."
OUTPUT_SIDE: Final = 15_000
LOST_BEGINNING: Final = "(The beginning of this conversation was lost.)"
ORPHAN_INTRODUCTION: Final = "Result of a tool call that is no longer part of this conversation:\n"
NO_RESULTS: Final = UserTurn(content=())


class Mend(StrEnum):
    """The kind of repair."""

    BEGINNING_ADDED = "the history began with an answer; a first turn was put before it"
    EMPTY_TURN_DROPPED = "a turn without content was left out"
    TURNS_MERGED = "two turns of the same side were merged"
    TURN_ADDED = "a turn with the results of tool calls was missing and was added"
    CALL_RENAMED = "a tool call had the id of another call and got one of its own"
    RESULT_ADDED = "a tool call had no result and was marked as interrupted"
    RESULT_DROPPED = "a second result for the same tool call was left out"
    RESULT_MADE_TEXT = "a result without its tool call was made plain text"
    RESULTS_MOVED = "results were put first, in the order of their calls"


class PairingProblem(msgspec.Struct, frozen=True, kw_only=True):
    """A repair; `place` is the position in the mended history."""

    place: int
    mend: Mend
    call_id: str | None = None


class Mended(msgspec.Struct, frozen=True, kw_only=True):
    """A valid history and the repairs that were needed."""

    turns: tuple[Turn, ...]
    problems: tuple[PairingProblem, ...] = ()


def mend(turns: Sequence[Turn], trusted: int = 0) -> Mended:
    """The history with calls and results paired. Deterministic and idempotent.

    Turns that need no change are the same objects. The first `trusted` turns must come from an earlier mend; they are
    not checked again, except for the last, which may have to be merged with a turn of the same side.
    """
    start = max(trusted - 1, 0)
    mended: list[Turn] = list(turns[:start])
    problems: list[PairingProblem] = []
    calls = _calls_of(mended[-1]) if mended else ()
    for turn in _alternating(turns[start:], start, problems):
        notes = _Notes(len(mended), problems)
        if isinstance(turn, AssistantTurn):
            calls = _calls_of(turn)
            mended.append(_renamed(turn, calls, notes))
        else:
            mended.append(_answered(turn, calls, notes))
            calls = ()
    return Mended(turns=tuple(mended), problems=tuple(problems))


def unanswered(last_turn: Turn | None) -> tuple[ToolUseBlock, ...]:
    """The calls without a result if this is the last turn."""
    return last_turn.tool_uses if isinstance(last_turn, AssistantTurn) else ()


def with_results(turn: UserTurn, results: Sequence[ToolResultBlock], reply: Turn | None) -> UserTurn:
    """The turn with the results that were logged one by one before it, in the order of the calls."""
    places = {call.id: place for place, call in enumerate(unanswered(reply))}
    known = [block for block in turn.content if isinstance(block, ToolResultBlock)]
    others = [block for block in turn.content if not isinstance(block, ToolResultBlock)]
    ordered = sorted((*results, *known), key=lambda result: places.get(result.tool_use_id, len(places)))
    return UserTurn(content=(*ordered, *others))


def interrupted_result(call_id: str, output: str = "") -> ToolResultBlock:
    """The result of an interrupted call, with its output up to then."""
    # Imported only for a command that was interrupted.
    from robota.workspace.output.capture import plain_terminal_text

    printed = plain_terminal_text(output)
    if len(printed) > 2 * OUTPUT_SIDE:
        cut = len(printed) - 2 * OUTPUT_SIDE
        printed = f"{printed[:OUTPUT_SIDE]}\n[… {cut:,} characters cut here …]\n{printed[-OUTPUT_SIDE:]}"
    content = f"{INTERRUPTED}\nOutput until then:\n{printed}" if printed.strip() else INTERRUPTED
    return ToolResultBlock(tool_use_id=call_id, content=content, is_error=True)


class _Call(msgspec.Struct, frozen=True, kw_only=True):
    """A call with its id in the history and its unique id."""

    given_id: str
    id: str


class _Notes:
    """Collects the repairs at one position."""

    def __init__(self, place: int, problems: list[PairingProblem]) -> None:
        self._place = place
        self._problems = problems

    def add(self, mend: Mend, call_id: str | None = None) -> None:
        self._problems.append(PairingProblem(place=self._place, mend=mend, call_id=call_id))


def _alternating(turns: Sequence[Turn], start: int, problems: list[PairingProblem]) -> list[Turn]:
    """The turns with user and assistant alternating, and a user turn for results after every turn with calls."""
    joined: list[Turn] = []
    for turn in turns:
        notes = _Notes(start + len(joined), problems)
        last = joined[-1] if joined else None
        if not turn.content:
            notes.add(Mend.EMPTY_TURN_DROPPED)
        elif isinstance(last, UserTurn) and isinstance(turn, UserTurn):
            joined[-1] = UserTurn(content=last.content + turn.content)
            notes.add(Mend.TURNS_MERGED)
        elif isinstance(last, AssistantTurn) and isinstance(turn, AssistantTurn):
            joined[-1:] = [last, NO_RESULTS, turn] if last.tool_uses else [_merged(last, turn)]
            notes.add(Mend.TURN_ADDED if last.tool_uses else Mend.TURNS_MERGED)
        else:
            joined.append(turn)
    if joined and unanswered(joined[-1]):
        joined.append(NO_RESULTS)
        _Notes(start + len(joined) - 1, problems).add(Mend.TURN_ADDED)
    if start == 0 and joined and isinstance(joined[0], AssistantTurn):
        joined.insert(0, UserTurn(content=(TextBlock(text=LOST_BEGINNING),)))
        _Notes(0, problems).add(Mend.BEGINNING_ADDED)
    return joined


def _merged(first: AssistantTurn, second: AssistantTurn) -> AssistantTurn:
    return msgspec.structs.replace(second, content=first.content + second.content, usage=first.usage + second.usage)


def _calls_of(turn: Turn) -> tuple[_Call, ...]:
    """The calls of a turn, each with an id that is unique in the turn."""
    uses = unanswered(turn)
    taken = {use.id for use in uses}
    calls: list[_Call] = []
    given: set[str] = set()
    for use in uses:
        own_id = use.id if use.id and use.id not in given else _fresh_id(use.id or "call", taken)
        given.add(use.id)
        taken.add(own_id)
        calls.append(_Call(given_id=use.id, id=own_id))
    return tuple(calls)


def _fresh_id(base: str, taken: set[str]) -> str:
    return next(name for name in (f"{base}_{number}" for number in count(2)) if name not in taken)


def _renamed(turn: AssistantTurn, calls: tuple[_Call, ...], notes: _Notes) -> AssistantTurn:
    if all(call.id == call.given_id for call in calls):
        return turn
    for call in calls:
        if call.id != call.given_id:
            notes.add(Mend.CALL_RENAMED, call.id)
    names = iter(calls)
    content = tuple(
        msgspec.structs.replace(block, id=next(names).id) if isinstance(block, ToolUseBlock) else block
        for block in turn.content
    )
    return msgspec.structs.replace(turn, content=content)


def _answered(turn: UserTurn, calls: tuple[_Call, ...], notes: _Notes) -> UserTurn:
    """The turn with exactly one result for each call, in order and first."""
    results, others = _sorted_out(turn, calls, notes)
    for call in calls:
        if call.id not in results:
            results[call.id] = interrupted_result(call.id)
            notes.add(Mend.RESULT_ADDED, call.id)
    content = (*(results[call.id] for call in calls), *others)
    if len(content) != len(turn.content):
        return UserTurn(content=content)
    if all(new is old for new, old in zip(content, turn.content, strict=True)):
        return turn
    if set(map(id, content)) == set(map(id, turn.content)):
        notes.add(Mend.RESULTS_MOVED)
    return UserTurn(content=content)


def _sorted_out(
    turn: UserTurn, calls: tuple[_Call, ...], notes: _Notes
) -> tuple[dict[str, ToolResultBlock], list[UserBlock]]:
    """The results by call id, and the other blocks. Results of calls that shared an id are matched by order."""
    waiting: dict[str, list[str]] = {}
    for call in calls:
        waiting.setdefault(call.given_id, []).append(call.id)
    results: dict[str, ToolResultBlock] = {}
    others: list[UserBlock] = []
    for block in turn.content:
        if not isinstance(block, ToolResultBlock):
            others.append(block)
        elif block.tool_use_id not in waiting:
            others += _as_text(block)
            notes.add(Mend.RESULT_MADE_TEXT, block.tool_use_id)
        elif not waiting[block.tool_use_id]:
            notes.add(Mend.RESULT_DROPPED, block.tool_use_id)
        else:
            call_id = waiting[block.tool_use_id].pop(0)
            is_same = block.tool_use_id == call_id
            results[call_id] = block if is_same else msgspec.structs.replace(block, tool_use_id=call_id)
    return results, others


def _as_text(result: ToolResultBlock) -> list[UserBlock]:
    images = [ImageBlock(source=source) for source in result.images]
    return [TextBlock(text=ORPHAN_INTRODUCTION + result.content), *images]


class Reduced(msgspec.Struct, frozen=True, kw_only=True):
    """A reduction and how many turns had been recorded before it."""

    after: int
    reduction: Reduction


# Shared by all pieces, because an empty dictionary for each turn of a long conversation would take memory.
NO_CUTS: Final[dict[str, str]] = {}


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded turn with its number, or the replacement that a reduction made, with the number of its first turn.

    `cuts` are the cuts by the call whose result they shortened.
    """

    number: int
    turn: Turn
    reduction: CondenseRecord | TruncateRecord | None = None
    cuts: dict[str, str] = {}


class RecordedConversation(msgspec.Struct, frozen=True, kw_only=True):
    """All recorded turns of a task, and the reductions in force; needed to undo a reduction."""

    turns: tuple[Turn, ...]
    reductions: tuple[Reduced, ...]


class ContextBase(msgspec.Struct, frozen=True, kw_only=True):
    """The conversation of a task after its first `recorded` turns, ending with `last`.

    Turns that were hidden from the model by then are not included, so the reductions in `reduction_ids` cannot be
    undone from here.
    """

    recorded: int
    last: Turn | None
    pieces: tuple[Piece, ...]
    turns: tuple[Turn, ...]
    reduction_ids: tuple[str, ...]


class ModelContext:
    """The visible pieces of a task, and the valid history that they form.

    Numbers never change, so dropping a reduction does not affect the others. Only the ids of reductions are stored, so
    that turns hidden from the model take no memory.
    """

    def __init__(self, base: ContextBase | None = None) -> None:
        self.recorded = 0 if base is None else base.recorded
        self.pieces: list[Piece] = [] if base is None else list(base.pieces)
        self.turns: list[Turn] = [] if base is None else list(base.turns)
        self.reduction_ids: dict[str, None] = {} if base is None else dict.fromkeys(base.reduction_ids)  # in order
        self.pins: set[int] = set()

    def add(self, turn: Turn) -> int:
        """Add the next turn. Returns how many turns before it are still the same objects.

        The calls of a reply stay open until the next user turn.
        """
        number, known = self.recorded, len(self.turns)
        self.recorded += 1
        if not turn.content:
            return known
        self.pieces.append(Piece(number=number, turn=turn, cuts=NO_CUTS))
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
        """Replace the turns that the reduction hides with its own."""
        self.reduction_ids[reduction_id(reduction)] = None
        if isinstance(reduction, CutRecord):
            self.pieces = _cut(self.pieces, reduction)
        else:
            self.pieces = _replaced(self.pieces, reduction)
        self.turns = list(mend([piece.turn for piece in self.pieces]).turns)

    @property
    def undoable(self) -> list[str]:
        """The ids of the visible reductions, newest last. Others are hidden by one of these."""
        shown = {reduction_id(piece.reduction) for piece in self.pieces if piece.reduction is not None}
        shown.update(cut_id for piece in self.pieces for cut_id in piece.cuts.values())
        return [identity for identity in self.reduction_ids if identity in shown]

    def pin(self, record: PinRecord) -> None:
        """Pin or unpin a turn. Reductions keep pinned turns."""
        if record.is_pinned:
            self.pins.add(record.turn)
        else:
            self.pins.discard(record.turn)


def _replaced(pieces: Sequence[Piece], reduction: CondenseRecord | TruncateRecord) -> list[Piece]:
    before = [piece for piece in pieces if piece.number < reduction.first]
    kept = [piece for piece in pieces if reduction.first <= piece.number < reduction.end]
    after = [piece for piece in pieces if piece.number >= reduction.end]
    put = Piece(number=reduction.first, turn=reduction.put, reduction=reduction)
    # The piece of a reduction has the number of the first turn that it hides, but is not that turn.
    return [*before, put, *(each for each in kept if each.number in reduction.keep and each.reduction is None), *after]


def _cut(pieces: Sequence[Piece], record: CutRecord) -> list[Piece]:
    """The pieces with some results shortened. Results that are hidden are skipped."""
    put: dict[int, dict[str, str]] = {}
    for each in record.results:
        put.setdefault(each.turn, {})[each.call_id] = each.put
    return [_with_cut_results(piece, put.get(piece.number, {}), record.cut_id) for piece in pieces]


def _with_cut_results(piece: Piece, put: dict[str, str], cut_id: str) -> Piece:
    turn = piece.turn
    if not put or not isinstance(turn, UserTurn):
        return piece
    content = tuple(
        msgspec.structs.replace(block, content=put[block.tool_use_id], images=())
        if isinstance(block, ToolResultBlock) and block.tool_use_id in put
        else block
        for block in turn.content
    )
    cuts = {**piece.cuts, **dict.fromkeys(put, cut_id)}
    return msgspec.structs.replace(piece, turn=UserTurn(content=content), cuts=cuts)


def model_context_of(
    turns: Sequence[Turn],
    reductions: Sequence[Reduced],
    results: Sequence[ToolResultBlock] = (),
    base: ContextBase | None = None,
) -> ModelContext:
    """The conversation of a task that is not running: open calls are closed.

    `results` are those of the last reply that are not in a turn yet.
    """
    conversation = open_context_of(turns, reductions, base)
    closed = [*conversation.turns, UserTurn(content=tuple(results))] if results else conversation.turns
    conversation.turns = list(mend(closed).turns)
    return conversation


def open_context_of(
    turns: Sequence[Turn], reductions: Sequence[Reduced], base: ContextBase | None = None
) -> ModelContext:
    """The conversation of a task that continues: the calls of its last reply may still get results."""
    conversation = ModelContext(base)
    waiting = list(reductions)
    for number, turn in enumerate(turns, start=conversation.recorded):
        while waiting and waiting[0].after <= number:
            conversation.reduce(waiting.pop(0).reduction)
        conversation.add(turn)
    for reduced in waiting:
        conversation.reduce(reduced.reduction)
    return conversation


def reduction_id(reduction: Reduction) -> str:
    """The id by which a restore names the reduction."""
    match reduction:
        case CondenseRecord():
            return reduction.condense_id
        case TruncateRecord():
            return reduction.truncation_id
        case CutRecord():
            return reduction.cut_id
        case _:
            assert_never(reduction)
