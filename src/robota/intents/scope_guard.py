"""Before a call changes something: there is an active intent, and what is touched belongs to it."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from robota.contracts.hook import BlockCall, HookContext, Proceed
from robota.contracts.tool import AnyTool, BadArguments, Effect, ToolCall, Touches
from robota.intents.intent import Intent, IntentProblem
from robota.intents.intent_files import DIRECTORY
from robota.intents.refusal import RefusalKind, refusal
from robota.intents.selection import IntentRefused, IntentSelection

MOST_NAMED = 5


class ScopeGuard:
    """A `PreToolHook`. What is out of scope or cannot be known needs a person, in every permission mode.

    `looks_only` says of a command whether it changes nothing; the policy knows.
    """

    def __init__(self, selection: IntentSelection, looks_only: Callable[[AnyTool, Touches], bool]) -> None:
        self._selection = selection
        self._looks_only = looks_only
        self._root = Path(os.path.realpath(selection.files.root))
        self._asked_about: set[str] = set()

    def needed_a_person(self, call_id: str) -> bool:
        """Whether a person had to approve the call, because it was not plainly in scope."""
        return call_id in self._asked_about

    async def before_tool(self, tool: AnyTool, call: ToolCall, context: HookContext) -> Proceed | BlockCall:
        self._selection.enter(context.task_id, is_subtask=context.agent_id is not None)
        if not tool.changes_something:
            return Proceed()
        try:
            params = tool.decode(call.input)
        except BadArguments as problem:
            return BlockCall(reason=str(problem))
        touches = tool.touches(params)
        if not tool.effects_of(params) & {Effect.WRITE, Effect.EXECUTE} or self._looks_only(tool, touches):
            return Proceed()
        try:
            said = self._judged(tool, touches, self._selection.active())
        except IntentRefused as refused:
            return BlockCall(reason=str(refused))
        except IntentProblem as problem:
            return BlockCall(reason=refusal(RefusalKind.INVALID_INTENT, f"{problem}.", None))
        if isinstance(said, Proceed) and said.ask_reason is not None:
            self._asked_about.add(call.id)
        return said

    def _judged(self, tool: AnyTool, touches: Touches, intent: Intent) -> Proceed | BlockCall:
        if touches.command is not None or not touches.paths:
            what = f"{tool.label} does not say which files it changes, and {intent.id} owns {_owned(intent)}."
            refused = refusal(RefusalKind.UNKNOWN_TARGETS, f"{what} The user did not approve it.", intent.id)
            return Proceed(ask_reason=f"{what} It may change others.", refusal=refused)
        outside: list[str] = []
        for path in touches.paths:
            place = self._relative(path)
            if place is not None and self._is_for_people(place):
                what = f"No intent may change {path}: only people do."
                return BlockCall(reason=refusal(RefusalKind.SCOPE_VIOLATION, what, intent.id, filename=path))
            if place is None or not intent.scope.covers(place):
                outside.append(path)
        return self._asked(outside, intent) if outside else Proceed()

    def _asked(self, outside: Sequence[str], intent: Intent) -> Proceed:
        named = ", ".join(outside[:MOST_NAMED]) + (" …" if len(outside) > MOST_NAMED else "")
        what = (
            f"Scope violation: {intent.id} ({intent.name}) is not authorized to edit {named}; it owns {_owned(intent)}."
        )
        told = f"{what} Request scope expansion."
        refused = refusal(RefusalKind.SCOPE_VIOLATION, told, intent.id, filename=outside[0], filenames=list(outside))
        return Proceed(ask_reason=what, refusal=refused)

    def _is_for_people(self, place: str) -> bool:
        return place.split("/")[0] == DIRECTORY or self._selection.files.is_never_touched(place)

    def _relative(self, path: str) -> str | None:
        """Where a path really leads, from the workspace on; None if that is outside of it."""
        place = os.path.relpath(os.path.realpath(self._root / path), self._root)
        return None if place == ".." or place.startswith("../") else place


def _owned(intent: Intent) -> str:
    return ", ".join(intent.owned_scope[:MOST_NAMED]) or "no files"
