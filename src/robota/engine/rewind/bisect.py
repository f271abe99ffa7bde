"""Finds what broke a test: the states of the workspace in a session, and a search among them."""

from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum

import msgspec

from robota.log.replay.rewind_points import RewindPoint


class Trial(StrEnum):
    """How a test ended in one state."""

    GOOD = "good"
    BAD = "bad"
    SKIPPED = "skipped"


class WorkspaceState(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint, and what led to it from the one `before`: a call of a prompt, or nobody the session knows of."""

    checkpoint: str
    before: str = ""
    call_id: str | None = None
    prompt: int | None = None


class SearchResult(msgspec.Struct, frozen=True, kw_only=True):
    """`suspects` are the states of which one is the first bad one: one, unless tests in between were skipped.

    They are empty if the test is bad in the first state, or good in the last.
    """

    suspects: tuple[WorkspaceState, ...]
    trials: dict[str, Trial]


def states_of(points: Sequence[RewindPoint], now: str) -> tuple[WorkspaceState, ...]:
    """The states of the present branch in order, the last being `now`. A state that differs from none is left out."""
    states: list[WorkspaceState] = []

    def reached(checkpoint: str, call_id: str | None, prompt: int | None) -> None:
        if not states or states[-1].checkpoint != checkpoint:
            before = states[-1].checkpoint if states else checkpoint
            states.append(WorkspaceState(checkpoint=checkpoint, before=before, call_id=call_id, prompt=prompt))

    for point in points:
        if not point.is_live or not point.calls:
            continue
        call_id: str | None = None
        for call in point.calls:
            reached(call.checkpoint, call_id, point.number if call_id else None)
            call_id = call.id
        reached(point.after or now, call_id, point.number)
    reached(now, None, None)
    return tuple(states)


async def first_bad(
    states: Sequence[WorkspaceState], test: Callable[[WorkspaceState], Awaitable[Trial]]
) -> SearchResult:
    """Search for the first state in which the test is bad, given that it was good before."""
    trials: dict[str, Trial] = {}

    async def tried(index: int) -> Trial:
        state = states[index]
        if state.checkpoint not in trials:
            trials[state.checkpoint] = await test(state)
        return trials[state.checkpoint]

    good, bad = 0, len(states) - 1
    if len(states) < 2 or await tried(good) is not Trial.GOOD or await tried(bad) is not Trial.BAD:
        return SearchResult(suspects=(), trials=trials)
    untried = list(range(good + 1, bad))
    while untried:
        index = untried[len(untried) // 2]
        match await tried(index):
            case Trial.GOOD:
                good = index
            case Trial.BAD:
                bad = index
            case Trial.SKIPPED:
                untried.remove(index)
        untried = [each for each in untried if good < each < bad]
    return SearchResult(suspects=tuple(states[good + 1 : bad + 1]), trials=trials)
