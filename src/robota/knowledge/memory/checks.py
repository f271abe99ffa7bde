"""Checks whether entries are still valid by running their commands, and records the results."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import msgspec

from robota.knowledge.memory.memories import KnownEntry, Memories, MemoryScope

MAX_REASON: Final = 200


class CheckPassed(msgspec.Struct, frozen=True):
    """The command succeeded."""


class CheckFailed(msgspec.Struct, frozen=True):
    """The command failed, so the entry is stale."""

    why: str


class CheckNotRun(msgspec.Struct, frozen=True):
    """The command was not allowed to run, which says nothing about the entry."""

    why: str


CheckResult = CheckPassed | CheckFailed | CheckNotRun
RunChecks = Callable[[Sequence[str]], Awaitable[Sequence[CheckResult]]]
NOT_OWN: Final = CheckNotRun("it came with the repository, which you have not trusted: robota trust")


class CheckedEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry with a check, and its result."""

    known: KnownEntry
    result: CheckResult


async def check_entries(memories: Memories, entries: Sequence[KnownEntry], run: RunChecks) -> list[CheckedEntry]:
    """Run the checks of these entries and record the results. Only checks of the user's own entries run."""
    own = [entry for entry in entries if entry.is_own and entry.entry.check is not None]
    results = await run([entry.entry.check for entry in own if entry.entry.check is not None]) if own else ()
    by_id = {entry.entry.id: result for entry, result in zip(own, results, strict=True)}
    checked = [
        CheckedEntry(known=entry, result=by_id.get(entry.entry.id, NOT_OWN))
        for entry in entries
        if entry.entry.check is not None
    ]
    for scope in {each.known.scope for each in checked}:
        _record(memories, scope, [each for each in checked if each.known.scope is scope])
    return checked


def _record(memories: Memories, scope: MemoryScope, checked: Sequence[CheckedEntry]) -> None:
    failed = {
        each.known.entry.id: each.result.why[:MAX_REASON] for each in checked if isinstance(each.result, CheckFailed)
    }
    passed = [each.known.entry.id for each in checked if isinstance(each.result, CheckPassed)]
    if failed or passed:
        memories.record_checks(scope, failed, passed)
