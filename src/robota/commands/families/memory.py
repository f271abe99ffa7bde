"""The verbs of memory: what is remembered between sessions."""

from collections.abc import Iterable
from typing import Annotated, Any, Final, assert_never

import msgspec

from robota.commands.memory_access import open_memory
from robota.commands.verb import DONE, FAILED, Answer, Family, NoArguments, ReadingVerb, RunsCommands, Verb, table, told
from robota.commands.verb_host import VerbHost
from robota.config.arguments import Option, Positional, RestOfLine, TextOption
from robota.knowledge.memory.candidates import classify
from robota.knowledge.memory.checks import (
    CheckedEntry,
    CheckFailed,
    CheckNotRun,
    CheckPassed,
    CheckResult,
    check_entries,
)
from robota.knowledge.memory.entry import MemoryEntry, MemoryType, topic_slug
from robota.knowledge.memory.memories import KnownCandidate, KnownEntry, MemoryScope, NewEntry
from robota.knowledge.memory.store import MemoryProblem
from robota.protocol.slash_commands import SubcommandInfo
from robota.text.visible import single_line, visible

MAX_CELL: Final = 400
NOTHING: Final = "Memory is empty. To add something: # TEXT in a conversation, or memory add."


def _entry_ids(host: VerbHost) -> Iterable[SubcommandInfo]:
    for each in open_memory(host).memories.entries():
        yield SubcommandInfo(name=each.entry.id, description=_cell(each.entry.text))


def _candidate_ids(host: VerbHost) -> Iterable[SubcommandInfo]:
    for each in open_memory(host).memories.candidates():
        yield SubcommandInfo(name=each.candidate.id, description=_cell(each.candidate.entry.text))


ID: Final = "id or id prefix, as shown in the list"


class ShowMemory(msgspec.Struct, frozen=True):
    """The index, or a topic."""

    topic: Annotated[str, RestOfLine("TOPIC", "instead of the index")] = "index"


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """For whom something is remembered, and how it is checked."""

    user: Annotated[bool, Option("for all projects instead of this one")] = False
    run: Annotated[str | None, TextOption("a command that succeeds while the entry is true", "COMMAND")] = None


class NoteMemory(Remembered, frozen=True, kw_only=True):
    """Something to remember."""

    text: Annotated[str, RestOfLine("TEXT", "what to remember")]


class AddMemory(Remembered, frozen=True, kw_only=True):
    """Something to remember, with its place."""

    type: Annotated[MemoryType, Positional("TYPE", ", ".join(MemoryType))]
    topic: Annotated[str, Positional("TOPIC", "a word or two")]
    text: Annotated[str, RestOfLine("TEXT", "what to remember")]


class OneCandidate(msgspec.Struct, frozen=True):
    """A proposed entry."""

    id: Annotated[str, Positional("ID", ID, _candidate_ids)]


class OneMemory(msgspec.Struct, frozen=True):
    """An entry."""

    id: Annotated[str, Positional("ID", ID, _entry_ids)]


class CheckMemory(RunsCommands, frozen=True, kw_only=True):
    """One entry, or all."""

    id: Annotated[str, Positional("ID", "limit to this one", _entry_ids)] = ""


def _list(host: VerbHost, _: NoArguments) -> Answer:
    entries = open_memory(host).memories.entries()
    rows = (
        (
            each.entry.id,
            each.scope,
            f"{each.entry.type}/{each.entry.topic}",
            each.entry.date,
            _cell(f"{each.entry.text}{_remark(each)}"),
        )
        for each in entries
    )
    return table(("ID", "OF", "TOPIC", "DATE", "TEXT"), rows, list(map(_entry_json, entries)), nothing=NOTHING)


def _show(host: VerbHost, args: ShowMemory) -> Answer:
    """The text of the files, with invisible characters spelled out."""
    name = "" if args.topic == "index" else topic_slug(args.topic)
    stores = open_memory(host).memories.stores.values()
    shown: list[dict[str, str]] = []
    for store in stores:
        lines = store.topics().get(name, ()) if name else store.index()
        if lines:
            path = store.topic_path(name) if name else store.index_path
            shown.append({"path": str(path), "text": "".join(line.text for line in lines)})
    if not shown and name:
        topics = sorted({each for store in stores for each in store.topics()})
        listed = f"Topics: {', '.join(topics)}." if topics else "There are no topics."
        raise MemoryProblem(f"There is no topic {name}. {listed}")
    text = "\n\n".join(f"{each['path']}\n\n{visible(each['text']).rstrip()}" for each in shown)
    return told(text or NOTHING, shown)


def _note(host: VerbHost, args: NoteMemory) -> Answer:
    kind, topic = classify(args.text)
    return _remember(host, args, kind, topic)


def _add(host: VerbHost, args: AddMemory) -> Answer:
    return _remember(host, args, args.type, args.topic)


def _remember(host: VerbHost, args: NoteMemory | AddMemory, kind: MemoryType, topic: str) -> Answer:
    scope = MemoryScope.USER if args.user else MemoryScope.PROJECT
    memory = open_memory(host)
    new = NewEntry(type=kind, topic=topic, text=args.text, scope=scope, check=args.run)
    added = memory.memories.add(new, memory.origin)
    if added is None:
        return told("This is already in memory. Nothing was written.", {"added": None})
    entry = added.entry
    text = f"Saved to memory as {entry.id} ({added.scope}, {entry.type}/{entry.topic}): {entry.text}"
    return told(text, {"added": _entry_json(added)})


def _pending(host: VerbHost, _: NoArguments) -> Answer:
    candidates = open_memory(host).memories.candidates()
    rows = (
        (
            each.candidate.id,
            each.scope,
            f"{each.candidate.entry.type}/{each.candidate.entry.topic}",
            _cell(each.candidate.source),
            _cell(each.candidate.entry.text),
        )
        for each in candidates
    )
    data = list(map(_candidate_json, candidates))
    return table(("ID", "OF", "TOPIC", "FROM", "TEXT"), rows, data, nothing="There are no proposed entries.")


def _approve(host: VerbHost, args: OneCandidate) -> Answer:
    return _decided(open_memory(host).memories.decide(args.id, is_approved=True))


def _reject(host: VerbHost, args: OneCandidate) -> Answer:
    return _decided(open_memory(host).memories.decide(args.id, is_approved=False))


def _decided(decided: KnownCandidate) -> Answer:
    text = f"{str(decided.candidate.state).capitalize()}: {decided.candidate.entry.text}"
    return told(text, _candidate_json(decided))


def _used(host: VerbHost, _: NoArguments) -> Answer:
    used = open_memory(host).used()
    lines = [("told" if line.is_own else "quoted", line) for line in used.in_prompt]
    lines += [("recalled" if line.is_own else "quoted", line) for line in used.recalled]
    stale = [{**_entry_json(each), "told": "stale"} for each in used.stale]
    in_prompt = [{"told": how, "path": line.path, "text": line.text, "id": _id(line.entry)} for how, line in lines]
    data = {"told": in_prompt, "stale": stale, "problems": list(used.problems)}
    rows = [(how, line.scope, _id(line.entry) or "-", _cell(line.text)) for how, line in lines]
    rows += [("stale", each.scope, each.entry.id, _cell(f"{each.entry.text} ({each.stale})")) for each in used.stale]
    nothing = "\n".join(("The model was given no memory entries.", *used.problems))
    return table(("TOLD", "OF", "ID", "TEXT"), rows, data, nothing=nothing)


def _forget(host: VerbHost, args: OneMemory) -> Answer:
    forgotten = open_memory(host).memories.forget(args.id)
    return told(f"Forgotten: {forgotten.entry.text}", _entry_json(forgotten))


async def _check(host: VerbHost, args: CheckMemory) -> Answer:
    memory = open_memory(host)
    entries = (memory.memories.find(args.id),) if args.id else memory.memories.entries()
    checked = await check_entries(memory.memories, entries, memory.run)
    rows = ((each.known.entry.id, *_result_cells(each.result), _cell(each.known.entry.text)) for each in checked)
    answer = table(
        ("ID", "CHECK", "WHY", "TEXT"), rows, list(map(_check_json, checked)), nothing="No entry has a check command."
    )
    has_passed = all(isinstance(each.result, CheckPassed) for each in checked)
    return msgspec.structs.replace(answer, exit_code=DONE if has_passed else FAILED)


FAMILY: Final = Family(
    name="memory",
    about="Facts remembered between sessions.",
    description="manage memory between sessions; # TEXT remembers something",
    default="list",
    problems=(MemoryProblem,),
    verbs=(
        ReadingVerb("list", "list entries, and which are stale", NoArguments, _list),
        ReadingVerb("show", "show the index, or a topic", ShowMemory, _show),
        Verb(
            "add",
            "remember something; --user: for all projects; --run: command that succeeds while it is true",
            AddMemory,
            _add,
        ),
        Verb("note", "remember something without type and topic", NoteMemory, _note),
        ReadingVerb("pending", "list proposed entries waiting for you", NoArguments, _pending),
        Verb("approve", "accept a proposed entry", OneCandidate, _approve),
        Verb("reject", "reject a proposed entry for good", OneCandidate, _reject),
        ReadingVerb("used", "list the entries the model was given in this session", NoArguments, _used),
        Verb("forget", "remove an entry", OneMemory, _forget),
        Verb("check", "run the check commands of entries", CheckMemory, _check),
    ),
)


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
