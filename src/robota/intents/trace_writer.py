"""After a call has changed files: a record of each in the trace, or no further changes."""

import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import msgspec

from robota.contracts.hook import BlockCall, CompletedCall, HookContext, Proceed
from robota.contracts.tool import AnyTool, BadArguments, ToolCall, ToolResult
from robota.intents.intent import Intent
from robota.intents.scope_guard import ScopeGuard
from robota.intents.selection import IntentRefused, IntentSelection
from robota.intents.trace_file import TRACE, TraceFile, TraceProblem
from robota.intents.trace_record import TraceOrigin, changed_between

MOST_BYTES = 20_000_000
MOST_TOLD = 5


class TracedSession(msgspec.Struct, frozen=True, kw_only=True):
    """What records say of the session that they come from."""

    id: str
    log_url: str
    model: str


class ChangedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file before and after a call; None where it did not exist."""

    path: str
    before: bytes | None
    after: bytes | None


# What a call changed in the workspace, found by comparing it with its checkpoint; None if that cannot be said.
ChangedByCall = Callable[[str], Awaitable[Sequence[ChangedFile] | None]]


class _Before(msgspec.Struct, frozen=True, kw_only=True):
    """The files that a call names, as they were, and the intent that it works for."""

    intent: Intent
    contents: dict[str, bytes | None]
    is_command: bool


class TraceWriter:
    """A hook around calls: it finds out what a call changed, and records it.

    A call that names its files is judged by these; of a command the whole workspace is compared with its checkpoint.
    """

    def __init__(
        self,
        selection: IntentSelection,
        guard: ScopeGuard,
        trace: TraceFile,
        session: TracedSession,
        changed_by: ChangedByCall,
    ) -> None:
        self._selection = selection
        self._guard = guard
        self._trace = trace
        self._session = session
        self._changed_by = changed_by
        self._root = selection.files.root
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
        except (BadArguments, IntentRefused):  # the guard has said no, or lets it pass as one that changes nothing
            return Proceed()
        contents = {path: _content(self._root / path) for path in touches.paths}
        self._before[call.id] = _Before(intent=intent, contents=contents, is_command=not touches.paths)
        return Proceed()

    async def after_tool(self, completed: CompletedCall, context: HookContext) -> ToolResult:
        before = self._before.pop(completed.call.id, None)
        if before is None:
            return completed.result
        changed = await self._changed_by(completed.call.id) if before.is_command else self._named(before)
        if changed is None:
            label = completed.tool.label
            context.tell(f"What {label} changed is not in {TRACE}: there is no checkpoint to compare with.")
            return completed.result
        try:
            for file in changed:
                change = changed_between(file.path, file.before, file.after)
                if change is not None:
                    self._trace.append(change, self._origin(completed, before.intent, file.path))
        except TraceProblem as problem:
            self._trouble = str(problem)
            context.tell(f"{problem}. Nothing more is changed in this session until it is started again.")
        if before.is_command:
            _tell_outside(changed, before.intent, context)
        return completed.result

    def _named(self, before: _Before) -> list[ChangedFile]:
        return [
            ChangedFile(path=self._place(path), before=old, after=_content(self._root / path))
            for path, old in before.contents.items()
        ]

    def _place(self, path: str) -> str:
        return os.path.relpath(os.path.realpath(self._root / path), os.path.realpath(self._root))

    def _origin(self, completed: CompletedCall, intent: Intent, path: str) -> TraceOrigin:
        return TraceOrigin(
            session_id=self._session.id,
            log_url=self._session.log_url,
            model=self._session.model,
            call_id=completed.call.id,
            tool=completed.tool.name,
            intent_id=intent.id,
            approval="user" if self._guard.needed_a_person(completed.call.id) else "in_scope",
            is_in_scope=intent.scope.covers(path),
        )


def _tell_outside(changed: Sequence[ChangedFile], intent: Intent, context: HookContext) -> None:
    """A person let the command run without knowing what it would change."""
    outside = [file.path for file in changed if not intent.scope.covers(file.path)]
    if outside:
        named = ", ".join(outside[:MOST_TOLD]) + (" …" if len(outside) > MOST_TOLD else "")
        context.tell(f"The command changed files that {intent.id} does not own: {named}. /rewind takes that back.")


def _content(path: Path) -> bytes | None:
    """The bytes of a plain file; None if there is none or it is too big to be compared."""
    try:
        return path.read_bytes() if path.is_file() and path.stat().st_size <= MOST_BYTES else None
    except OSError:
        return None
