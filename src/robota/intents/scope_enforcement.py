"""Before a call changes something: there is an active intent, and what is touched belongs to it."""

import os
import stat
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from robota.contracts.hook import BlockCall, HookContext, Proceed
from robota.contracts.tool import AnyTool, BadArguments, Effect, ToolCall, ToolRole, Touches
from robota.intents.intent import Intent, IntentProblem
from robota.intents.intent_files import DIRECTORY
from robota.intents.leases import LeaseBook
from robota.intents.refusal import RefusalKind, blocked, refusal
from robota.intents.selection import IntentRefused, IntentSelection

MOST_NAMED: Final = 5
NOTHING: Final = ()

# The files that a command changes: none if it only looks, None if that cannot be told.
WrittenBy = Callable[[AnyTool, Touches], Sequence[str] | None]


class ScopeEnforcementHook:
    """A `PreToolHook`. What is out of scope or cannot be known needs a person, in every permission mode.

    The criteria of the intent are commands of the team, but what they run may be the agent's: they run without a person
    where `is_contained`. That is, nobody is there, the sandbox keeps them from git and from what steers the agent, and
    what else they change out of scope is put back. Where somebody is there it is not, because it may be theirs.
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
        self._asked_about: set[str] = set()

    def needed_a_person(self, call_id: str) -> bool:
        """Whether a person had to approve the call, because it was not plainly in scope."""
        return call_id in self._asked_about

    async def before_tool(self, tool: AnyTool, call: ToolCall, context: HookContext) -> Proceed | BlockCall:
        self._selection.enter(context.task_id, is_subtask=context.agent_id is not None)
        self._asked_about.discard(call.id)
        said = self._said_of(tool, call)
        if isinstance(said, Proceed) and said.ask_reason is not None:
            self._asked_about.add(call.id)
        return said

    async def confirm(self, tool: AnyTool, call: ToolCall, context: HookContext) -> BlockCall | None:
        """See `CallGuard`: the intent may have been withdrawn, or a path lead elsewhere, while a person was asked."""
        self._selection.enter(context.task_id, is_subtask=context.agent_id is not None)
        said = self._said_of(tool, call)
        if isinstance(said, BlockCall):
            return said
        is_news = said.ask_reason is not None and call.id not in self._asked_about
        return blocked(said.refusal) if is_news else None

    def _said_of(self, tool: AnyTool, call: ToolCall) -> Proceed | BlockCall:
        if not tool.changes_something:
            return Proceed()
        try:
            params = tool.decode(call.input)
        except BadArguments as problem:
            return BlockCall(reason=str(problem))
        if not tool.effects_of(params) & {Effect.WRITE, Effect.EXECUTE}:
            return Proceed()
        try:
            return self._judged(tool, tool.touches(params))
        except IntentRefused as refused:
            return blocked(str(refused))
        except IntentProblem as problem:
            return blocked(refusal(RefusalKind.INVALID_INTENT, f"{problem}.", None))

    def _judged(self, tool: AnyTool, touches: Touches) -> Proceed | BlockCall:
        if touches.command is None:
            intent = self._held()
            return self._of_files(touches.paths, intent) if touches.paths else _unknown(tool, intent)
        written = self._written_by(tool, touches)
        if written == NOTHING:
            return Proceed()
        intent = self._held()
        if DIRECTORY.strip(".") in _plainly(touches.command):
            return _for_people(DIRECTORY, intent)
        if tool.role is not ToolRole.SHELL:
            return _unknown(tool, intent)  # what it changes later, and what stands there then, nobody sees
        if written is not None:
            return self._of_files(written, intent, is_command=True)
        is_criterion = touches.command.strip() in intent.commands and touches == Touches(command=touches.command)
        return Proceed() if is_criterion and self._is_contained() else _unknown(tool, intent)

    def _held(self) -> Intent:
        """The active intent, whose files this session holds from now on."""
        intent = self._selection.active()
        self._leases.take(intent)
        return intent

    def _of_files(self, paths: Iterable[str], intent: Intent, *, is_command: bool = False) -> Proceed | BlockCall:
        """A command writes into the file that is there, and so into one of another name that is the same."""
        outside: list[str] = []
        for path in paths:
            place = self._relative(path)
            if place is not None and self._is_for_people(place):
                return _for_people(path, intent)
            if place is None or not intent.scope.covers(place):
                outside.append(path)
            elif is_command and self._has_other_names(place):
                outside.append(f"{path} (which has other names: hard links)")
            elif (lease := self._leases.holder(place)) is not None:
                what = f"{path} is held by {lease.holder}. Wait until that session is done, or change other files."
                return blocked(refusal(RefusalKind.SCOPE_HELD, what, intent.id, filename=path))
        return _outside(outside, intent) if outside else Proceed()

    def _is_for_people(self, place: str) -> bool:
        parts = (_plainly(part).rstrip(". ") for part in place.split("/"))
        return DIRECTORY in parts or self._selection.files.is_never_touched(place)

    def _has_other_names(self, place: str) -> bool:
        try:
            found = (self._root / place).lstat()
        except OSError:
            return False
        return not stat.S_ISDIR(found.st_mode) and found.st_nlink > 1

    def _relative(self, path: str) -> str | None:
        """Where a path really leads, from the workspace on; None if that is outside of it, or nowhere."""
        if "\0" in path:
            return None
        place = os.path.relpath(os.path.realpath(self._root / path), self._root)
        return None if place == ".." or place.startswith("../") else place


def _plainly(text: str) -> str:
    """Without what some file systems leave out of names, and in the letters that they take for the same."""
    if not text.isascii():
        text = "".join(each for each in unicodedata.normalize("NFKC", text) if unicodedata.category(each) != "Cf")
    return text.casefold()


def _for_people(path: str, intent: Intent) -> BlockCall:
    what = f"No intent may change {path}: only people do."
    return blocked(refusal(RefusalKind.SCOPE_VIOLATION, what, intent.id, filename=path))


def _unknown(tool: AnyTool, intent: Intent) -> Proceed:
    what = f"{tool.label} does not say which files it changes, and {intent.id} owns {_owned(intent)}."
    refused = refusal(RefusalKind.UNKNOWN_TARGETS, f"{what} The user did not approve it.", intent.id)
    return Proceed(ask_reason=f"{what} It may change others.", refusal=refused)


def _outside(outside: Sequence[str], intent: Intent) -> Proceed:
    named = ", ".join(outside[:MOST_NAMED]) + (" …" if len(outside) > MOST_NAMED else "")
    what = f"Scope violation: {intent.id} ({intent.name}) is not authorized to edit {named}; it owns {_owned(intent)}."
    message = f"{what} Request scope expansion."
    refused = refusal(RefusalKind.SCOPE_VIOLATION, message, intent.id, filename=outside[0], filenames=list(outside))
    return Proceed(ask_reason=what, refusal=refused)


def _owned(intent: Intent) -> str:
    return ", ".join(intent.owned_scope[:MOST_NAMED]) or "no files"
