"""After a call has changed files: a record of each in the trace, or no further changes."""

import os
from pathlib import Path

import msgspec

from robota.contracts.hook import BlockCall, CompletedCall, HookContext, Proceed
from robota.contracts.tool import AnyTool, BadArguments, ToolCall, ToolResult
from robota.intents.scope_guard import ScopeGuard
from robota.intents.selection import IntentRefused, IntentSelection
from robota.intents.trace_file import TraceFile, TraceProblem
from robota.intents.trace_record import TraceOrigin, changed_between

MOST_BYTES = 20_000_000


class TracedSession(msgspec.Struct, frozen=True, kw_only=True):
    """What records say of the session that they come from."""

    id: str
    log_url: str
    model: str


class _Before(msgspec.Struct, frozen=True, kw_only=True):
    """The files that a call names, as they were, and the intent that it works for."""

    intent_id: str
    contents: dict[str, bytes | None]


class TraceWriter:
    """A hook around calls: it reads the files that a call names before and after, and records what differs."""

    def __init__(self, selection: IntentSelection, guard: ScopeGuard, trace: TraceFile, session: TracedSession) -> None:
        self._selection = selection
        self._guard = guard
        self._trace = trace
        self._session = session
        self._root = selection.files.root
        self._before: dict[str, _Before] = {}
        self._trouble: str | None = None

    async def before_tool(self, tool: AnyTool, call: ToolCall, context: HookContext) -> Proceed | BlockCall:
        if not tool.changes_something:
            return Proceed()
        if self._trouble is not None:
            return BlockCall(reason=f"Nothing may be changed while changes cannot be traced: {self._trouble}.")
        try:
            paths = tool.touches(tool.decode(call.input)).paths
            intent = self._selection.active()
        except (BadArguments, IntentRefused):  # the guard has said no, or lets it pass as one that changes nothing
            return Proceed()
        contents = {path: _content(self._root / path) for path in paths}
        self._before[call.id] = _Before(intent_id=intent.id, contents=contents)
        return Proceed()

    async def after_tool(self, completed: CompletedCall, context: HookContext) -> ToolResult:
        before = self._before.pop(completed.call.id, None)
        if before is None:
            return completed.result
        try:
            for path, old in before.contents.items():
                change = changed_between(self._named(path), old, _content(self._root / path))
                if change is not None:
                    self._trace.append(change, self._origin(completed, before.intent_id))
        except TraceProblem as problem:
            self._trouble = str(problem)
            context.tell(f"{problem}. Nothing more is changed in this session until it is started again.")
        return completed.result

    def _named(self, path: str) -> str:
        return os.path.relpath(os.path.realpath(self._root / path), os.path.realpath(self._root))

    def _origin(self, completed: CompletedCall, intent_id: str) -> TraceOrigin:
        return TraceOrigin(
            session_id=self._session.id,
            log_url=self._session.log_url,
            model=self._session.model,
            call_id=completed.call.id,
            tool=completed.tool.name,
            intent_id=intent_id,
            approval="user" if self._guard.needed_a_person(completed.call.id) else "in_scope",
        )


def _content(path: Path) -> bytes | None:
    """The bytes of a plain file; None if there is none or it is too big to be compared."""
    try:
        return path.read_bytes() if path.is_file() and path.stat().st_size <= MOST_BYTES else None
    except OSError:
        return None
