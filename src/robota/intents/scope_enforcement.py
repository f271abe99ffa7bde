"""Checks before a call changes files that an intent is active and that the files are in its scope."""

import os
import stat
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from robota.contracts.hook import BlockCall, HookContext, Proceed
from robota.contracts.tool import AnyTool, BadArguments, Effect, ToolCall, ToolRole, Touches
from robota.intents.intent import Intent, IntentProblem
from robota.intents.intent_files import DIRECTORY, IntentFiles
from robota.intents.leases import LeaseBook, holder_among
from robota.intents.refusal import RefusalKind, blocked, refusal
from robota.intents.selection import IntentRefused, IntentSelection
from robota.intents.trace_record import timestamp
from robota.protocol.permission_mode import PermissionMode
from robota.text.visible import as_utf8

MAX_NAMED: Final = 5
MAX_EXAMINED: Final = 100_000
NOTHING: Final = ()

# The files that a command changes: empty if it only reads, None if unknown.
WrittenBy = Callable[[AnyTool, Touches], Sequence[str] | None]


async def judge_scope(
    files: IntentFiles, written_by: WrittenBy, intent_id: str, tool: AnyTool, call: ToolCall
) -> Proceed | BlockCall:
    """Whether a call is in the scope of an intent, without a session. Raises `IntentRefused`."""
    selection = IntentSelection(files)
    selection.enter(call.id, is_subtask=False)
    selection.select(intent_id)
    context = HookContext(permission_mode=PermissionMode.DEFAULT, task_id=call.id)
    with TemporaryDirectory() as scratch:  # so that no real lease is taken
        leases = LeaseBook(Path(scratch), call.id, files.root, timestamp)
        decision = await ScopeEnforcementHook(selection, written_by, leases).before_tool(tool, call, context)
        leases.release()
    return decision


class ScopeEnforcementHook:
    """A `PreToolHook`. Changes that are out of scope or unknown need approval in every permission mode.

    The criteria of an intent are commands of the team, but may run code that the agent wrote. They run without approval
    only if `is_contained`: the session is unattended, the sandbox protects git and the agent's configuration, and other
    changes out of scope are undone. In an attended session these could be the user's own, so nothing is undone.
    """

    def __init__(
        self,
        selection: IntentSelection,
        written_by: WrittenBy,
        leases: LeaseBook,
        is_contained: Callable[[], bool] = lambda: False,
    ) -> None:
        self._selection = selection
        self._written_by = written_by
        self._leases = leases
        self._is_contained = is_contained
        self._root = Path(os.path.realpath(selection.files.root))
        self._top = Path(os.path.realpath(selection.files.top))
        self._asked_about: set[str] = set()

    def needed_approval(self, call_id: str) -> bool:
        """Whether the user had to approve the call, because it was not clearly in scope."""
        return call_id in self._asked_about

    async def before_tool(self, tool: AnyTool, call: ToolCall, context: HookContext) -> Proceed | BlockCall:
        self._selection.enter(context.task_id, is_subtask=context.agent_id is not None)
        self._asked_about.discard(call.id)
        outcome = self._judge(tool, call)
        if isinstance(outcome, Proceed) and outcome.ask_reason is not None:
            self._asked_about.add(call.id)
        return outcome

    async def confirm(self, tool: AnyTool, call: ToolCall, context: HookContext) -> BlockCall | None:
        """See `CallGuard`: while the user was asked, the intent may be withdrawn or a path may change its target."""
        self._selection.enter(context.task_id, is_subtask=context.agent_id is not None)
        outcome = self._judge(tool, call)
        if isinstance(outcome, BlockCall):
            return outcome
        is_news = outcome.ask_reason is not None and call.id not in self._asked_about
        return blocked(outcome.refusal) if is_news else None

    def _judge(self, tool: AnyTool, call: ToolCall) -> Proceed | BlockCall:
        if not tool.changes_something:
            return Proceed()
        try:
            params = tool.decode(call.input)
        except BadArguments as problem:
            return BlockCall(reason=str(problem))
        if not tool.effects_of(params) & {Effect.WRITE, Effect.EXECUTE}:
            return Proceed()
        try:
            return self._judge_touches(tool, tool.touches(params))
        except IntentRefused as refused:
            return blocked(str(refused))
        except IntentProblem as problem:
            return blocked(refusal(RefusalKind.INVALID_INTENT, f"{problem}.", None))

    def _judge_touches(self, tool: AnyTool, touches: Touches) -> Proceed | BlockCall:
        if touches.command is None:
            intent = self._leased_intent()
            return self._judge_files(touches.paths, intent) if touches.paths else _unknown(tool, intent)
        written = self._written_by(tool, touches)
        if written == NOTHING:
            return Proceed()
        intent = self._leased_intent()
        if DIRECTORY.strip(".") in _comparable_name(touches.command):
            return _refuse_protected(DIRECTORY, intent)
        if tool.role is not ToolRole.SHELL:
            return _unknown(tool, intent)  # it may keep running and change files later, when nothing checks them
        if written is not None:
            return self._judge_files(written, intent, is_command=True)
        is_written_so = touches.command.strip() in intent.commands and touches == Touches(command=touches.command)
        is_criterion = is_written_so and self._root == self._top
        return _undoable(touches.command, intent) if is_criterion and self._is_contained() else _unknown(tool, intent)

    def _leased_intent(self) -> Intent:
        """The active intent, after taking a lease on its files."""
        intent = self._selection.active()
        self._leases.take(intent)
        return intent

    def _judge_files(self, paths: Iterable[str], intent: Intent, *, is_command: bool = False) -> Proceed | BlockCall:
        """Judge files. A command writes through hard links, so a file with other names may be out of scope.

        For a command, everything in a directory is judged too.
        """
        outside: list[str] = []
        inside: dict[str, str] = {}
        for path in paths:
            relative = self._relative(path)
            if relative is not None and self._is_protected(relative):
                return _refuse_protected(path, intent)
            if relative is None or not intent.scope.covers(relative):
                outside.append(path)
            elif is_command and self._has_other_names(relative):
                outside.append(f"{path} (which has other names: hard links)")
            else:
                inside[relative] = path
        held = self._leases.older()
        contents = self._contents(inside) if is_command else iter(())
        for number, (relative, path) in enumerate(chain(inside.items(), contents)):
            if number > MAX_EXAMINED:
                return _outside([*outside, f"{path} and more files than can be looked at"], intent)
            if self._is_protected(relative):
                return _refuse_protected(relative, intent)
            if (lease := holder_among(held, relative)) is not None:
                name = as_utf8(path)
                what = (
                    f"{name} is in use by {lease.holder}. Wait until that session has finished, or change other files."
                )
                return blocked(refusal(RefusalKind.SCOPE_HELD, what, intent.id, filename=name))
        return _outside(outside, intent) if outside else Proceed()

    def _contents(self, inside: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """The content of the directories: its present paths, and the free names that it may be moved to."""
        free = [path for path in inside if not os.path.lexists(self._top / path)]
        for path in inside:
            for directory, directories, names in os.walk(self._top / path):
                for name in (*directories, *names):
                    below = os.path.relpath(Path(directory, name), self._top / path)
                    yield from ((f"{start}/{below}", f"{start}/{below}") for start in (path, *free))

    def _is_protected(self, path: str) -> bool:
        parts = (_comparable_name(part).rstrip(". ") for part in path.split("/"))
        return DIRECTORY in parts or self._selection.files.is_never_touched(path)

    def _has_other_names(self, path: str) -> bool:
        try:
            status = (self._top / path).lstat()
        except OSError:
            return False
        return not stat.S_ISDIR(status.st_mode) and status.st_nlink > 1

    def _relative(self, path: str) -> str | None:
        """The resolved path relative to the top; None if it is outside or cannot be resolved."""
        if "\0" in path:
            return None
        relative = os.path.relpath(os.path.realpath(self._root / path), self._top)
        return None if relative == ".." or relative.startswith("../") else relative


def _comparable_name(text: str) -> str:
    """The text without invisible characters, normalised and in lower case, as some file systems compare names."""
    if not text.isascii():
        text = "".join(char for char in unicodedata.normalize("NFKC", text) if unicodedata.category(char) != "Cf")
    return text.casefold()


def _refuse_protected(path: str, intent: Intent) -> BlockCall:
    name = as_utf8(path)
    what = f"No intent may change {name}: only a user may."
    return blocked(refusal(RefusalKind.SCOPE_VIOLATION, what, intent.id, filename=name))


def _undoable(command: str, intent: Intent) -> Proceed:
    what = f"{as_utf8(command)} was not run: there is no checkpoint to undo what it changes out of scope."
    return Proceed(only_undoable=refusal(RefusalKind.UNKNOWN_TARGETS, what, intent.id))


def _unknown(tool: AnyTool, intent: Intent) -> Proceed:
    what = f"{tool.label} does not say which files it changes, and {intent.id} owns {_owned(intent)}."
    refused = refusal(RefusalKind.UNKNOWN_TARGETS, f"{what} The user did not approve it.", intent.id)
    return Proceed(ask_reason=f"{what} It may change others.", refusal=refused)


def _outside(outside: Sequence[str], intent: Intent) -> Proceed:
    names = list(map(as_utf8, outside))
    named = ", ".join(names[:MAX_NAMED]) + (" …" if len(names) > MAX_NAMED else "")
    what = f"Scope violation: {intent.id} ({intent.name}) is not authorized to edit {named}; it owns {_owned(intent)}."
    message = f"{what} Request scope expansion."
    refused = refusal(RefusalKind.SCOPE_VIOLATION, message, intent.id, filename=names[0], filenames=names)
    return Proceed(ask_reason=what, refusal=refused)


def _owned(intent: Intent) -> str:
    return ", ".join(intent.owned_scope[:MAX_NAMED]) or "no files"
