"""Whether entries still hold: their commands are run by somebody else, what came of it is kept."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import msgspec

from robota.knowledge.memory.memories import KnownEntry, Memories, MemoryScope

LONGEST_WHY: Final = 200


class CheckPassed(msgspec.Struct, frozen=True):
    """The command succeeded."""


class CheckFailed(msgspec.Struct, frozen=True):
    """The command failed, so that the entry no longer holds."""

    why: str


class CheckNotRun(msgspec.Struct, frozen=True):
    """The command may not run, which says nothing about the entry."""

    why: str


CheckResult = CheckPassed | CheckFailed | CheckNotRun
RunChecks = Callable[[Sequence[str]], Awaitable[Sequence[CheckResult]]]
NOT_YOURS: Final = CheckNotRun("it came with the repository, which you have not trusted: robota trust")


class CheckedEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry with a check, and what came of it."""

    known: KnownEntry
    result: CheckResult


async def check_entries(memories: Memories, entries: Sequence[KnownEntry], run: RunChecks) -> list[CheckedEntry]:
    """Run the checks of these entries and keep the results. Never that of an entry which is not the person's own."""
    own = [known for known in entries if known.is_own and known.entry.check is not None]
    results = await run([known.entry.check for known in own if known.entry.check is not None]) if own else ()
    by_id = {known.entry.id: result for known, result in zip(own, results, strict=True)}
    checked = [
        CheckedEntry(known=known, result=by_id.get(known.entry.id, NOT_YOURS))
        for known in entries
        if known.entry.check is not None
    ]
    for scope in {each.known.scope for each in checked}:
        _keep(memories, scope, [each for each in checked if each.known.scope is scope])
    return checked


def _keep(memories: Memories, scope: MemoryScope, checked: Sequence[CheckedEntry]) -> None:
    failed = {
        each.known.entry.id: each.result.why[:LONGEST_WHY] for each in checked if isinstance(each.result, CheckFailed)
    }
    passed = [each.known.entry.id for each in checked if isinstance(each.result, CheckPassed)]
    if failed or passed:
        memories.note_checks(scope, failed, passed)
