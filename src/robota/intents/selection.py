"""The active intent of a session, and whether it is still valid."""

from collections.abc import Callable

import msgspec

from robota.intents.intent import Intent, IntentProblem, IntentStatus, selectable
from robota.intents.intent_files import INTENTS, NEVER_TOUCHED, IntentFiles
from robota.intents.refusal import RefusalKind, refusal


class IntentRefused(Exception):
    """No intent is active or selectable. The message is for the model."""


def _nothing_noted(task_id: str, intent_id: str | None) -> None:
    pass


class SelectionMemory(msgspec.Struct, frozen=True, kw_only=True):
    """Stores selections beyond the process: `recall` returns that of a task which this process does not know."""

    recall: Callable[[str], str | None] = lambda task_id: None
    note: Callable[[str, str | None], None] = _nothing_noted


class IntentSelection:
    """The active intent of a session. It belongs to one top-level task and its subtasks."""

    def __init__(self, files: IntentFiles, memory: SelectionMemory | None = None) -> None:
        self.files = files
        self._memory = memory or SelectionMemory()
        self._selected: str | None = None
        self._task = ""
        self._is_subtask = False

    @property
    def selected(self) -> str | None:
        """The selected id, whether or not the intent is still valid."""
        return self._selected

    def enter(self, task_id: str, *, is_subtask: bool) -> None:
        """Switch to a task before its calls. A new top-level task starts without an intent."""
        self._is_subtask = is_subtask
        if not is_subtask and task_id != self._task:
            self._task = task_id
            self._selected = self._memory.recall(task_id)

    def select(self, id: str) -> Intent:
        """Make an intent the active one, or raise `IntentRefused`."""
        chosen = self.candidate(id)
        self._set_selected(id)
        return chosen

    def candidate(self, id: str) -> Intent:
        """The intent with that id, if it can be selected now. Changes nothing."""
        intents = self._intents(id)
        chosen = next((intent for intent in intents if intent.id == id), None)
        if chosen is None or chosen.status is not IntentStatus.IN_PROGRESS:
            what = f"There is no intent {id}." if chosen is None else f"{id} is {chosen.status}, not IN_PROGRESS."
            raise IntentRefused(self._refusal(RefusalKind.INVALID_INTENT, what, id, intents))
        if self._is_ignored(id):
            what = f"{NEVER_TOUCHED} lists {id}, so nothing may be changed for it."
            raise IntentRefused(self._refusal(RefusalKind.INVALID_INTENT, what, id, intents))
        if self._is_subtask and self._selected not in (None, id):
            what = f"A subtask works on the intent of its task, which is {self._selected}."
            raise IntentRefused(self._refusal(RefusalKind.INTENT_MISMATCH, what, id, intents))
        return chosen

    def active(self) -> Intent:
        """The selected intent as in the file now. Raises `IntentRefused` if it is gone or no longer in progress."""
        intents = self._intents(self._selected)
        if self._selected is None:
            what = "No intent is selected. Call select_active_intent before you change anything."
            raise IntentRefused(self._refusal(RefusalKind.MISSING_INTENT, what, None, intents))
        active = next((intent for intent in selectable(intents) if intent.id == self._selected), None)
        if active is None or self._is_ignored(active.id):
            withdrawn = self._selected
            self._set_selected(None)
            why = f"{withdrawn} is no longer IN_PROGRESS or was withdrawn, so nothing may be changed for it."
            what = f"{why} Select another intent, or stop."
            raise IntentRefused(self._refusal(RefusalKind.INVALID_INTENT, what, withdrawn, intents))
        return active

    def _set_selected(self, id: str | None) -> None:
        self._selected = id
        self._memory.note(self._task, id)

    def _intents(self, id: str | None) -> tuple[Intent, ...]:
        try:
            return self.files.intents()
        except IntentProblem as problem:
            what = f"{INTENTS} cannot be used: {problem}. Nothing may be changed until a user has fixed it."
            raise IntentRefused(refusal(RefusalKind.INVALID_INTENT, what, id)) from problem

    def _is_ignored(self, id: str) -> bool:
        try:
            return self.files.is_never_selected(id)
        except IntentProblem:
            return True

    def _refusal(self, kind: RefusalKind, what: str, id: str | None, intents: tuple[Intent, ...]) -> str:
        free = (intent for intent in selectable(intents) if not self._is_ignored(intent.id))
        valid = [{"id": intent.id, "name": intent.name} for intent in free]
        return refusal(kind, what, id, valid_intents=valid)
