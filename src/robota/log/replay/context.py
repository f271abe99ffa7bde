"""The conversation that the model gets: reductions applied, every tool call followed by exactly one result."""

from collections.abc import Sequence
from enum import StrEnum
from itertools import count
from typing import Final, assert_never

import msgspec

from robota.log.kinds.calls import ResultRecord
from robota.log.kinds.conversation import (
    CondenseRecord,
    CutRecord,
    PinRecord,
    Reduction,
    RestoreRecord,
    TruncateRecord,
    TurnRecord,
)
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

INTERRUPTED: Final = (
    "The task was interrupted before this call finished. It may have done part of its work. "
    "Check that before you repeat it."
)
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
    """A repair; `index` is the position in the mended history."""

    index: int
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
    order = {call.id: number for number, call in enumerate(unanswered(reply))}
    own = [block for block in turn.content if isinstance(block, ToolResultBlock)]
    others = [block for block in turn.content if not isinstance(block, ToolResultBlock)]
    ordered = sorted((*results, *own), key=lambda result: order.get(result.tool_use_id, len(order)))
    return UserTurn(content=(*ordered, *others))


def interrupted_result(call_id: str, output: str = "") -> ToolResultBlock:
    """The result of an interrupted call, with its output up to then."""
    # Imported only for a command that was interrupted.
    from robota.workspace.output.capture import plain_terminal_text

    printed = plain_terminal_text(output)
    if len(printed) > 2 * OUTPUT_SIDE:
        cut = len(printed) - 2 * OUTPUT_SIDE
        note = f"[… {cut:,} characters were cut here and are not kept …]"
        printed = f"{printed[:OUTPUT_SIDE]}\n{note}\n{printed[-OUTPUT_SIDE:]}"
    content = f"{INTERRUPTED}\nOutput until then:\n{printed}" if printed.strip() else INTERRUPTED
    return ToolResultBlock(tool_use_id=call_id, content=content, is_error=True)


class _Call(msgspec.Struct, frozen=True, kw_only=True):
    """A call with its id in the history and its unique id."""

    given_id: str
    id: str


class _Notes:
    """Collects the repairs at one position."""

    def __init__(self, index: int, problems: list[PairingProblem]) -> None:
        self._index = index
        self._problems = problems

    def add(self, mend: Mend, call_id: str | None = None) -> None:
        self._problems.append(PairingProblem(index=self._index, mend=mend, call_id=call_id))


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


class _ReplacedTurns(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The turns `first` up to `end`, which a reduction replaced."""

    id: str
    first: int
    end: int


class Summary(_ReplacedTurns, frozen=True, kw_only=True, gc=False, tag="summary"):
    """The turns were condensed."""


class Omission(_ReplacedTurns, frozen=True, kw_only=True, gc=False, tag="omission"):
    """The turns were left out."""


# Shared by all pieces, because an empty dictionary for each turn of a long conversation would take memory.
NO_CUTS: Final[dict[str, str]] = {}


class Piece(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A recorded turn with its number, or what a reduction put in place of turns, with the number of the first of them.

    `cuts` are the ids of cuts by the call whose result they shortened.
    """

    number: int
    turn: Turn
    reduction: Summary | Omission | None = None
    cuts: dict[str, str] = {}


ContextPayload = TurnRecord | ResultRecord | Reduction | RestoreRecord | PinRecord


class EarlierRecordsNeeded(Exception):
    """A record changes something that is not in memory any more, so the log must be read from its beginning."""


class ContextFold(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What the model gets of a task after the records so far. It is part of snapshots, so it is bounded like a context.

    `recorded` is the number of turns ever recorded, and `last` the newest of them. `pieces` are those that are not
    hidden. `reduction_ids` are in the order of the reductions, the newest of which came after `reduced_at` turns.
    `pins` are the numbers of pinned turns, and `results` those of the last reply that are not in a turn yet.
    """

    recorded: int = 0
    last: Turn | None = None
    pieces: list[Piece] = []
    reduction_ids: dict[str, None] = {}
    reduced_at: int = 0
    pins: set[int] = set()
    results: list[ToolResultBlock] = []

    def take(self, payload: ContextPayload) -> None:
        """Add the next record. Raises `EarlierRecordsNeeded`."""
        match payload:
            case TurnRecord():
                self.add(payload.turn)
            case ResultRecord():
                self.results.append(payload.result)
            case CondenseRecord() | TruncateRecord() | CutRecord():
                self.reduce(payload)
            case RestoreRecord():
                # What the reduction hid is not here, so it must have been left out; see `Timeline`.
                if payload.id in self.reduction_ids:
                    raise EarlierRecordsNeeded
            case PinRecord():
                (self.pins.add if payload.is_pinned else self.pins.discard)(payload.turn)
            case _:
                assert_never(payload)

    def add(self, turn: Turn) -> Turn:
        """Add the next turn, and return it. A user turn gets the results that were logged before it."""
        if isinstance(turn, UserTurn) and self.results:
            turn = with_results(turn, self.results, self.last)
        self.results.clear()
        self.last = turn
        if turn.content:
            self.pieces.append(Piece(number=self.recorded, turn=turn, cuts=NO_CUTS))
        self.recorded += 1
        return turn

    def reduce(self, reduction: Reduction) -> None:
        """Replace the turns that the reduction hides with its own."""
        self.reduction_ids[reduction_id(reduction)] = None
        self.reduced_at = self.recorded
        if isinstance(reduction, CutRecord):
            self.pieces = _cut(self.pieces, reduction)
        else:
            self.pieces = _replaced(self.pieces, reduction)

    @property
    def open_calls(self) -> tuple[ToolUseBlock, ...]:
        """The calls of the last reply without a result."""
        answered = {result.tool_use_id for result in self.results}
        return tuple(call for call in unanswered(self.last) if call.id not in answered)

    @property
    def undoable(self) -> list[str]:
        """The ids of the visible reductions, newest last. Others are hidden by one of these."""
        shown = {piece.reduction.id for piece in self.pieces if piece.reduction is not None}
        shown.update(cut_id for piece in self.pieces for cut_id in piece.cuts.values())
        return [identity for identity in self.reduction_ids if identity in shown]

    def copied(self) -> "ContextFold":
        """A copy that can be changed without changing this one."""
        return msgspec.structs.replace(
            self,
            pieces=[*self.pieces],
            reduction_ids={**self.reduction_ids},
            pins={*self.pins},
            results=[*self.results],
        )


class ModelContext:
    """The pieces of a running task, and `turns`, the valid history that they form.

    Numbers never change, so undoing a reduction does not affect the others.
    """

    def __init__(self, fold: ContextFold | None = None) -> None:
        self.fold = ContextFold() if fold is None else fold.copied()
        self.turns = _valid_turns(self.fold.pieces)

    def add(self, turn: Turn) -> int:
        """Add the next turn. Returns how many turns before it are still the same objects.

        The calls of a reply stay open until the next user turn.
        """
        return _add_valid(self.turns, self.fold.add(turn))

    def reduce(self, reduction: Reduction) -> None:
        """Replace the turns that the reduction hides with its own."""
        self.fold.reduce(reduction)
        self.turns = _valid_turns(self.fold.pieces)

    def close(self) -> None:
        """Give every call a result, because no process runs the task."""
        results = [UserTurn(content=tuple(self.fold.results))] if self.fold.results else []
        self.turns = list(mend([*self.turns, *results]).turns)
        self.fold.results.clear()


def _valid_turns(pieces: Sequence[Piece]) -> list[Turn]:
    """The valid history that the pieces form; the calls of a reply at its end stay open."""
    turns = [piece.turn for piece in pieces]
    is_open = bool(turns) and isinstance(turns[-1], AssistantTurn)
    valid = list(mend(turns[:-1] if is_open else turns).turns)
    if is_open:
        _add_valid(valid, turns[-1])
    return valid


def _add_valid(turns: list[Turn], turn: Turn) -> int:
    """Add a turn to a valid history. Returns how many turns before it are still the same objects."""
    count = len(turns)
    if not turn.content:
        return count
    is_reply = isinstance(turn, AssistantTurn)
    if is_reply and not (count and isinstance(turns[-1], AssistantTurn)):
        turns.append(turn)
        return count
    # Only the newest pair can need a change, so the cost does not grow with the conversation.
    newest = turns[-2:]
    mended = mend([*newest, turn], trusted=len(newest)).turns
    is_same = not newest or mended[len(newest) - 1] is newest[-1]
    unchanged = count if is_same else count - 1
    added = mended[len(newest) - (count - unchanged) :]
    turns[unchanged:] = added[:-1] if is_reply and unanswered(turn) else added
    return unchanged


def _replaced(pieces: Sequence[Piece], reduction: CondenseRecord | TruncateRecord) -> list[Piece]:
    before = [piece for piece in pieces if piece.number < reduction.first]
    hidden = [piece for piece in pieces if reduction.first <= piece.number < reduction.end]
    after = [piece for piece in pieces if piece.number >= reduction.end]
    kind = Summary if isinstance(reduction, CondenseRecord) else Omission
    hides = kind(id=reduction_id(reduction), first=reduction.first, end=reduction.end)
    put = Piece(number=reduction.first, turn=reduction.put, reduction=hides, cuts=NO_CUTS)
    # What replaces turns has the number of the first of them, but is not that turn.
    kept = (piece for piece in hidden if piece.number in reduction.keep and piece.reduction is None)
    return [*before, put, *kept, *after]


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
