"""Which intent the agent works on, and whether it still may."""

from robota.intents.intent import Intent, IntentProblem, IntentStatus, selectable
from robota.intents.intent_files import INTENTS, IntentFiles
from robota.intents.refusal import RefusalKind, refusal


class IntentRefused(Exception):
    """There is no intent to work on. The message is for the model."""


class IntentSelection:
    """The active intent of a session. It belongs to one task of the person's and the subtasks of that task."""

    def __init__(self, files: IntentFiles) -> None:
        self.files = files
        self._selected: str | None = None
        self._task = ""
        self._is_subtask = False

    def enter(self, task_id: str, *, is_subtask: bool) -> None:
        """A call of that task comes next. A new task of the person's begins without an intent."""
        self._is_subtask = is_subtask
        if not is_subtask and task_id != self._task:
            self._task = task_id
            self._selected = None

    def select(self, id: str) -> Intent:
        """Make an intent the active one, or raise `IntentRefused`."""
        intents = self._intents(id)
        chosen = next((intent for intent in intents if intent.id == id), None)
        if chosen is None or chosen.status is not IntentStatus.IN_PROGRESS:
            what = f"There is no intent {id}." if chosen is None else f"{id} is {chosen.status}, not IN_PROGRESS."
            raise IntentRefused(self._told(RefusalKind.INVALID_INTENT, what, id, intents))
        if self._is_subtask and self._selected not in (None, id):
            what = f"A subtask works on the intent of its task, which is {self._selected}."
            raise IntentRefused(self._told(RefusalKind.INTENT_MISMATCH, what, id, intents))
        self._selected = id
        return chosen

    def active(self) -> Intent:
        """The selected intent as the file describes it now, or `IntentRefused`, also if it has been set back."""
        intents = self._intents(self._selected)
        if self._selected is None:
            what = "No intent is selected. Call select_active_intent before you change anything."
            raise IntentRefused(self._told(RefusalKind.MISSING_INTENT, what, None, intents))
        active = next((intent for intent in selectable(intents) if intent.id == self._selected), None)
        if active is None:
            gone, self._selected = self._selected, None
            what = f"{gone} is no longer IN_PROGRESS, so nothing may be changed for it. Select another intent, or stop."
            raise IntentRefused(self._told(RefusalKind.INVALID_INTENT, what, gone, intents))
        return active

    def _intents(self, id: str | None) -> tuple[Intent, ...]:
        try:
            return self.files.intents()
        except IntentProblem as problem:
            what = f"{INTENTS} cannot be used: {problem}. Nothing may be changed until a person has put it right."
            raise IntentRefused(refusal(RefusalKind.INVALID_INTENT, what, id)) from problem

    def _told(self, kind: RefusalKind, what: str, id: str | None, intents: tuple[Intent, ...]) -> str:
        valid = [{"id": intent.id, "name": intent.name} for intent in selectable(intents)]
        return refusal(kind, what, id, valid_intents=valid)
