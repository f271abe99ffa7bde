"""Executes requests about the memory, for `/memory` and `robota memory`."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final, assert_never

import msgspec

from robota.commands.memory_requests import (
    AddEntry,
    CheckEntries,
    DecideCandidate,
    ForgetEntry,
    ListCandidates,
    ListEntries,
    ListUsed,
    MemoryRequest,
    ShowText,
)
from robota.knowledge.memory.checks import (
    CheckedEntry,
    CheckFailed,
    CheckNotRun,
    CheckPassed,
    CheckResult,
    RunChecks,
    check_entries,
)
from robota.knowledge.memory.entry import MemoryEntry, MemoryOrigin, topic_slug
from robota.knowledge.memory.memories import KnownCandidate, KnownEntry, Memories
from robota.knowledge.memory.session_memory import UsedMemory
from robota.knowledge.memory.store import MemoryProblem
from robota.protocol.views import TableView, TextView, View
from robota.text.visible import single_line, visible

MAX_CELL: Final = 400
NOTHING: Final = "Memory is empty. To add something: # TEXT in a conversation, or memory add."


class MemoryAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a request: a view, and data for scripts. `is_well` is false if a check did not pass."""

    view: View
    data: Any
    is_well: bool = True


class MemoryActions(msgspec.Struct, frozen=True, kw_only=True):
    """Executes requests. `used` returns the memory that was sent to the model, `run` runs the commands of checks."""

    memories: Memories
    used: Callable[[], UsedMemory]
    run: RunChecks
    origin: Callable[[], MemoryOrigin | None] = lambda: None

    async def execute(self, request: MemoryRequest) -> MemoryAnswer:
        """Execute a request. Raises `MemoryProblem`."""
        if isinstance(request, CheckEntries):
            return await self._check(request.id)
        # In a thread: the lock of another process or a slow disk must not block the session.
        return await asyncio.to_thread(self._execute_in_thread, request)

    def _execute_in_thread(self, request: "MemoryRequest") -> MemoryAnswer:
        match request:
            case ListEntries():
                return _listed(self.memories.entries())
            case ShowText(topic=topic):
                return self._text(topic)
            case AddEntry(new=new):
                return _added(self.memories.add(new, self.origin()))
            case ListCandidates():
                return _waiting(self.memories.candidates())
            case DecideCandidate(id=name, is_approved=is_approved):
                return _decided(self.memories.decide(name, is_approved=is_approved))
            case ListUsed():
                return _used(self.used())
            case ForgetEntry(id=name):
                known = self.memories.forget(name)
                return MemoryAnswer(view=TextView(text=f"Forgotten: {known.entry.text}"), data=_entry_json(known))
            case CheckEntries():
                raise AssertionError("checks wait for commands")
            case never:
                assert_never(never)

    def _text(self, topic: str) -> MemoryAnswer:
        """The text of the files, with invisible characters spelled out."""
        name = topic_slug(topic) if topic else ""
        found: list[dict[str, str]] = []
        for store in self.memories.stores.values():
            lines = store.topics().get(name, ()) if name else store.index()
            if lines:
                path = store.topic_path(name) if name else store.index_path
                found.append({"path": str(path), "text": "".join(line.text for line in lines)})
        if not found and name:
            topics = sorted({each for store in self.memories.stores.values() for each in store.topics()})
            known = f"Topics: {', '.join(topics)}." if topics else "There are no topics."
            raise MemoryProblem(f"There is no topic {name}. {known}")
        text = "\n\n".join(f"{each['path']}\n\n{visible(each['text']).rstrip()}" for each in found) or NOTHING
        return MemoryAnswer(view=TextView(text=text), data=found)

    async def _check(self, name: str) -> MemoryAnswer:
        entries = (self.memories.find(name),) if name else self.memories.entries()
        checked = await check_entries(self.memories, entries, self.run)
        if not checked:
            return MemoryAnswer(view=TextView(text="No entry has a check command."), data=[])
        rows = tuple(
            (each.known.entry.id, *_result_cells(each.result), _cell(each.known.entry.text)) for each in checked
        )
        view = TableView(columns=("ID", "CHECK", "WHY", "TEXT"), rows=rows)
        is_well = all(isinstance(each.result, CheckPassed) for each in checked)
        return MemoryAnswer(view=view, data=[_check_json(each) for each in checked], is_well=is_well)


def _listed(entries: Sequence[KnownEntry]) -> MemoryAnswer:
    data = [_entry_json(known) for known in entries]
    if not entries:
        return MemoryAnswer(view=TextView(text=NOTHING), data=data)
    rows = tuple(
        (
            known.entry.id,
            known.scope,
            f"{known.entry.type}/{known.entry.topic}",
            known.entry.date,
            _cell(f"{known.entry.text}{_remark(known)}"),
        )
        for known in entries
    )
    return MemoryAnswer(view=TableView(columns=("ID", "OF", "TOPIC", "DATE", "TEXT"), rows=rows), data=data)


def _added(known: KnownEntry | None) -> MemoryAnswer:
    if known is None:
        return MemoryAnswer(view=TextView(text="This is already in memory. Nothing was written."), data={"added": None})
    entry = known.entry
    text = f"Saved to memory as {entry.id} ({known.scope}, {entry.type}/{entry.topic}): {entry.text}"
    return MemoryAnswer(view=TextView(text=text), data={"added": _entry_json(known)})


def _waiting(candidates: Sequence[KnownCandidate]) -> MemoryAnswer:
    data = [_candidate_json(each) for each in candidates]
    if not candidates:
        return MemoryAnswer(view=TextView(text="There are no proposed entries."), data=data)
    rows = tuple(
        (
            each.candidate.id,
            each.scope,
            f"{each.candidate.entry.type}/{each.candidate.entry.topic}",
            _cell(each.candidate.source),
            _cell(each.candidate.entry.text),
        )
        for each in candidates
    )
    return MemoryAnswer(view=TableView(columns=("ID", "OF", "TOPIC", "FROM", "TEXT"), rows=rows), data=data)


def _decided(decided: KnownCandidate) -> MemoryAnswer:
    text = f"{str(decided.candidate.state).capitalize()}: {decided.candidate.entry.text}"
    return MemoryAnswer(view=TextView(text=text), data=_candidate_json(decided))


def _used(used: UsedMemory) -> MemoryAnswer:
    lines = [("told" if line.is_own else "quoted", line) for line in used.in_prompt]
    lines += [("recalled" if line.is_own else "quoted", line) for line in used.recalled]
    stale = [{**_entry_json(known), "told": "stale"} for known in used.stale]
    in_prompt = [{"told": how, "path": line.path, "text": line.text, "id": _id(line.entry)} for how, line in lines]
    data = {"told": in_prompt, "stale": stale, "problems": list(used.problems)}
    rows = [(how, line.scope, _id(line.entry) or "-", _cell(line.text)) for how, line in lines]
    rows += [
        ("stale", known.scope, known.entry.id, _cell(f"{known.entry.text} ({known.stale})")) for known in used.stale
    ]
    if not rows:
        text = "\n".join(("The model was given no memory entries.", *used.problems))
        return MemoryAnswer(view=TextView(text=text), data=data)
    return MemoryAnswer(view=TableView(columns=("TOLD", "OF", "ID", "TEXT"), rows=tuple(rows)), data=data)


def _remark(known: KnownEntry) -> str:
    remarks = [
        *([] if known.stale is None else [f"stale: {known.stale}"]),
        *([] if known.is_own else ["quoted: not trusted"]),
        *([] if known.entry.check is None else [f"run: {known.entry.check}"]),
    ]
    return f" ({'; '.join(remarks)})" if remarks else ""


def _result_cells(result: CheckResult) -> tuple[str, str]:
    match result:
        case CheckPassed():
            return "holds", "-"
        case CheckFailed(why=why):
            return "stale", _cell(why)
        case CheckNotRun(why=why):
            return "not run", _cell(why)
        case never:
            assert_never(never)


def _entry_json(known: KnownEntry) -> dict[str, Any]:
    entry = known.entry
    return {
        "id": entry.id,
        "scope": known.scope,
        "type": entry.type,
        "topic": entry.topic,
        "text": entry.text,
        "date": entry.date,
        "origin": None if entry.origin is None else msgspec.structs.asdict(entry.origin),
        "files": list(entry.files),
        "check": entry.check,
        "isOwn": known.is_own,
        "stale": known.stale,
    }


def _candidate_json(known: KnownCandidate) -> dict[str, Any]:
    candidate = known.candidate
    of_entry = KnownEntry(scope=known.scope, entry=candidate.entry, is_own=False)
    kept = {name: value for name, value in _entry_json(of_entry).items() if name not in ("isOwn", "stale")}
    return {**kept, "state": candidate.state, "source": candidate.source, "confidence": candidate.confidence}


def _check_json(checked: CheckedEntry) -> dict[str, Any]:
    state, why = _result_cells(checked.result)
    return {**_entry_json(checked.known), "result": state, "why": None if why == "-" else why}


def _id(entry: MemoryEntry | None) -> str | None:
    return None if entry is None else entry.id


def _cell(text: str) -> str:
    return single_line(text, MAX_CELL)
