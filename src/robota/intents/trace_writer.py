"""Writes a trace record for each file that a call changed; if that fails, further changes are refused."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from robota.contracts.hook import BlockCall, CompletedCall, HookContext, Proceed
from robota.contracts.tool import AnyTool, BadArguments, ToolCall, ToolResult, Touches
from robota.intents.editing_tools import BadDeclaration, declared_class
from robota.intents.intent import Intent
from robota.intents.intent_files import DIRECTORY, LESSONS, MAP
from robota.intents.mutation_class import MutationClass, ShapeOf, classify
from robota.intents.recovery.traced_calls import TraceBeginRecord
from robota.intents.refusal import blocked
from robota.intents.scope_enforcement import ScopeEnforcementHook
from robota.intents.selection import IntentRefused, IntentSelection
from robota.intents.trace_file import TRACE, TraceFile, TraceProblem
from robota.intents.trace_record import TracedChange, TraceOrigin, changed_between, content_hash
from robota.text.visible import as_utf8

MAX_REPORTED: Final = 5
WRITTEN: Final = frozenset({TRACE, LESSONS, MAP})

UNCHECKED: Final = (
    "There is no checkpoint to compare with, so it is unknown whether this changed files out of scope. Nothing was put "
    "back."
)


class TracedSession(msgspec.Struct, frozen=True, kw_only=True):
    """The session and commit that records name."""

    id: str
    log_url: str
    model: str
    revision: Callable[[], str | None] = lambda: None


class ChangedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file before and after a call; None where it did not exist."""

    path: str
    before: bytes | None
    after: bytes | None


class Watching(msgspec.Struct, frozen=True, kw_only=True):
    """Callbacks of the writer.

    `changed_by` returns the files that a call changed, by comparing the workspace with its checkpoint; None if unknown.
    `begin` is called before a call may run, and raises `TraceProblem` if it must not; `end` when everything that the
    call changed is in the trace. `ran` gets the result of a command that is a criterion of an intent.
    """

    changed_by: Callable[[str], Awaitable[Sequence[ChangedFile] | None]]
    shape_of: ShapeOf
    begin: Callable[[TraceBeginRecord], Awaitable[None]]
    end: Callable[[str], None]
    ran: Callable[[Intent, str, ToolResult], None] = lambda intent, command, result: None
    # Restores files to their state before a call, in unattended sessions; returns whether it did.
    put_back: Callable[[str, Sequence[str]], Awaitable[bool]] | None = None
    # Records an outcome for later sessions.
    learnt: Callable[[Intent, str], None] = lambda intent, lesson: None


class _Before(msgspec.Struct, frozen=True, kw_only=True):
    """The files that a call names, with their content before it, and the active intent."""

    intent: Intent
    contents: dict[str, bytes | None]
    command: str | None
    is_opaque: bool
    declared: MutationClass | None
    protected_stamps: Mapping[str, tuple[int, int]]


class TraceWriterHook:
    """A hook around calls: it finds out what a call changed, and records it.

    A call that names its files is judged by these; of a command the whole workspace is compared with its checkpoint.
    """

    def __init__(
        self,
        selection: IntentSelection,
        guard: ScopeEnforcementHook,
        trace: TraceFile,
        session: TracedSession,
        watching: Watching,
    ) -> None:
        self._selection = selection
        self._guard = guard
        self._trace = trace
        self._session = session
        self._watching = watching
        self._root = selection.files.root
        self._top = os.path.realpath(selection.files.top)
        self._before: dict[str, _Before] = {}
        self._trouble: str | None = None

    async def before_tool(self, tool: AnyTool, call: ToolCall, context: HookContext) -> Proceed | BlockCall:
        if not tool.changes_something:
            return Proceed()
        if self._trouble is not None:
            return BlockCall(reason=f"Nothing may be changed while changes cannot be traced: {self._trouble}.")
        try:
            touches = tool.touches(tool.decode(call.input))
            intent = self._selection.active()
            declared = declared_class(call.input, intent.id)
        except (BadArguments, IntentRefused):  # refused, or a call that changes nothing
            return Proceed()
        except BadDeclaration as problem:
            return blocked(str(problem))
        before = await asyncio.to_thread(self._noted, touches, intent, declared)
        try:
            await self._watching.begin(await asyncio.to_thread(self._begin, tool, call, context, before))
        except TraceProblem as problem:
            return BlockCall(reason=f"Nothing may be changed while changes cannot be traced: {problem}.")
        self._before[call.id] = before
        return Proceed()

    def _begin(self, tool: AnyTool, call: ToolCall, context: HookContext, before: _Before) -> TraceBeginRecord:
        hashes = {path: None if data is None else content_hash(data) for path, data in before.contents.items()}
        return TraceBeginRecord(
            task_id=context.task_id,
            call_id=call.id,
            tool=tool.name,
            model=self._session.model,
            intent_id=before.intent.id,
            approval=self._approval(call.id),
            revision=self._session.revision(),
            declared=before.declared,
            is_opaque=before.is_opaque,
            before=hashes,
        )

    def _approval(self, call_id: str) -> str:
        return "user" if self._guard.needed_approval(call_id) else "in_scope"

    def _noted(self, touches: Touches, intent: Intent, declared: MutationClass | None) -> _Before:
        is_opaque = touches.command is not None or not touches.paths
        return _Before(
            intent=intent,
            contents={} if is_opaque else {path: _content(self._root / path) for path in touches.paths},
            command=touches.command,
            is_opaque=is_opaque,
            declared=declared,
            protected_stamps=_protected_stamps(self._selection.files.home) if is_opaque else {},
        )

    async def after_tool(self, completed: CompletedCall, context: HookContext) -> ToolResult:
        before = self._before.pop(completed.call.id, None)
        if before is None:
            return completed.result
        result = completed.result
        if before.command is not None and before.command.strip() in before.intent.commands:
            self._watching.ran(before.intent, before.command.strip(), result)
        if before.is_opaque:
            changed = await self._watching.changed_by(completed.call.id)
        else:
            changed = await asyncio.to_thread(self._named, before)
        if changed is None:
            label = completed.tool.label
            context.tell(f"What {label} changed is not in {TRACE}: there is no checkpoint to compare with.")
            self._watching.end(completed.call.id)
            return _with_warnings(result, [UNCHECKED]) if self._is_put_back(before, completed.call.id) else result
        undone = await self._put_back(changed, before, completed.call.id)
        changed = [file for file in changed if file.path not in undone]
        warnings = await asyncio.to_thread(self._record, changed, before, completed, context)
        if self._trouble is None:
            self._watching.end(completed.call.id)
        if undone:
            what = f"{_some(undone)} changed while the command ran, {before.intent.id} does not own that, and nobody is"
            warnings.append(f"{what} there to be asked. It was put back.")
            self._watching.learnt(before.intent, f"A criterion changed files out of scope: {_some(undone)}")
        if before.is_opaque:
            warnings += self._outside(changed, before, context)
        return _with_warnings(result, warnings)

    def _is_put_back(self, before: _Before, call_id: str) -> bool:
        """Whether the call ran without approval because what it changes out of scope is put back."""
        is_unattended = self._watching.put_back is not None
        return is_unattended and before.command is not None and not self._guard.needed_approval(call_id)

    async def _put_back(self, changed: Sequence[ChangedFile], before: _Before, call_id: str) -> list[str]:
        """Restore files out of scope that a criterion changed, because criteria run without approval."""
        if self._watching.put_back is None or not self._is_put_back(before, call_id):
            return []
        steered = _differing(before.protected_stamps, _protected_stamps(self._selection.files.home))
        outside = sorted({*(file.path for file in changed if not before.intent.scope.covers(file.path)), *steered})
        return outside if outside and await self._watching.put_back(call_id, outside) else []

    def _record(
        self, changed: Sequence[ChangedFile], before: _Before, completed: CompletedCall, context: HookContext
    ) -> list[str]:
        """Write the records; returns a note for the model."""
        warnings: list[str] = []
        revision = self._session.revision()
        try:
            for file in changed:
                change = self._classified(file, before.declared)
                if change is None:
                    continue
                if change.kind is not None and change.kind.differs:
                    warnings.append(
                        f"{change.path} was declared {change.kind.declared}, but its syntax tree says "
                        f"{change.kind.checked}. It is recorded as {change.kind.checked}."
                    )
                self._trace.append(change, self._origin(completed, before.intent, file.path, revision))
        except TraceProblem as problem:
            self._trouble = str(problem)
            context.tell(f"{problem}. Nothing more is changed in this session until it is started again.")
        return warnings

    def _classified(self, file: ChangedFile, declared: MutationClass | None) -> TracedChange | None:
        change = changed_between(file.path, file.before, file.after)
        if change is None:
            return None
        kind = classify(file.path, file.before, file.after, declared, self._watching.shape_of)
        return msgspec.structs.replace(change, kind=kind)

    def _named(self, before: _Before) -> list[ChangedFile]:
        return [
            ChangedFile(path=self._path_below_top(path), before=old, after=_content(self._root / path))
            for path, old in before.contents.items()
        ]

    def _path_below_top(self, path: str) -> str:
        return os.path.relpath(os.path.realpath(self._root / path), self._top)

    def _origin(self, completed: CompletedCall, intent: Intent, path: str, revision: str | None) -> TraceOrigin:
        return TraceOrigin(
            session_id=self._session.id,
            log_url=self._session.log_url,
            model=self._session.model,
            call_id=completed.call.id,
            tool=completed.tool.name,
            intent_id=intent.id,
            approval=self._approval(completed.call.id),
            is_in_scope=intent.scope.covers(path),
            revision=revision,
        )

    def _outside(self, changed: Sequence[ChangedFile], before: _Before, context: HookContext) -> list[str]:
        """A note about changes out of scope by a command whose changes could not be known before."""
        messages: list[str] = []
        intent = before.intent
        outside = [file.path for file in changed if not intent.scope.covers(file.path)]
        if outside:
            what = f"The command changed files that {intent.id} does not own: {_some(outside)}."
            context.tell(f"{what} /rewind undoes it.")
            self._watching.learnt(intent, f"A command changed files out of scope: {_some(outside)}")
            messages.append(f"{what} Restore them, unless the user wanted that.")
        steered = sorted(_differing(before.protected_stamps, _protected_stamps(self._selection.files.home)))
        if steered:
            what = f"{_some(steered)} changed while the command ran, and only a user may change that."
            context.tell(f"{what} Check it with git diff before you continue.")
            messages.append(what)
        return messages


def _with_warnings(result: ToolResult, warnings: Sequence[str]) -> ToolResult:
    if not warnings:
        return result
    return msgspec.structs.replace(result, content="\n".join((result.content, *(f"[intents] {w}" for w in warnings))))


def _some(names: Sequence[str]) -> str:
    return ", ".join(map(as_utf8, names[:MAX_REPORTED])) + (" …" if len(names) > MAX_REPORTED else "")


def _protected_stamps(root: Path) -> dict[str, tuple[int, int]]:
    """The files of the intent layer, except those that Robota writes."""
    stamps: dict[str, tuple[int, int]] = {}
    try:
        with os.scandir(root / DIRECTORY) as entries:
            for entry in entries:
                name = f"{DIRECTORY}/{entry.name}"
                if name not in WRITTEN and not name.endswith(".new"):
                    state = entry.stat(follow_symlinks=False)
                    stamps[name] = (state.st_mtime_ns, state.st_size)
    except OSError:
        pass
    return stamps


def _differing(before: Mapping[str, tuple[int, int]], after: Mapping[str, tuple[int, int]]) -> set[str]:
    return {name for name in {*before, *after} if before.get(name) != after.get(name)}


def _content(path: Path) -> bytes | None:
    """The bytes of a regular file; None if there is none."""
    try:
        return path.read_bytes() if path.is_file() else None
    except OSError:
        return None
