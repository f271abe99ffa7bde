"""Print the conversation: the streamed text of the model, calls, and errors."""

from collections.abc import Callable
from typing import Final

import msgspec

from robota.clients.render.progress import Progress
from robota.clients.render.turn_usage import TurnUsage
from robota.clients.terminal.line import DIM, RED, Handlers
from robota.clients.terminal.line_writer import LineWriter
from robota.clients.view.model import ViewModel
from robota.protocol.asks.kinds import APPROVAL_ASKS
from robota.protocol.calls import SPEAKING, CallPurpose
from robota.protocol.events import (
    MessageCreated,
    MessageUpdated,
    TextDelta,
    ToolEnd,
    ToolStart,
    TurnReply,
)
from robota.protocol.message import SPOKEN, Message
from robota.protocol.views import DiffsView, DiffView

# The protocol has codes for some errors; clients choose the text.
ERRORS_IN_WORDS: Final = {"MODEL_NO_ASSISTANT_MESSAGES": "The model returned an empty answer."}


class Transcript:
    """Prints everything once, in the order of events."""

    def __init__(self, diagnostics: LineWriter) -> None:
        self._diagnostics = diagnostics
        self._streaming: int | None = None  # the row that is being streamed, and how much of it was shown
        self._shown = 0
        self._begun: set[str] = set()
        self._asked: set[str] = set()
        self._changed: set[str] = set()
        self._subtasks: set[str] = set()
        self.usage = TurnUsage()

    @property
    def handlers(self) -> Handlers:
        progress = dict(Progress(self._diagnostics).handlers)
        del progress[TurnReply]  # text is streamed instead
        start, end = progress[ToolStart], progress[ToolEnd]
        return {
            **progress,
            ToolStart: lambda event: self._started(event, start),
            ToolEnd: lambda event: end(self._without_what_is_known(event)),
            MessageCreated: self._created,
            MessageUpdated: lambda event: self._updated(event.message),
            TextDelta: self._delta,
        }

    def resume(self, task_id: str | None) -> None:
        """Note that the beginning of this task was shown before."""
        if task_id is not None:
            self._begun.add(task_id)

    def tell_usage(self, view: ViewModel, *, is_stopped: bool = False) -> None:
        """Print the usage of the turn that has finished, or was stopped."""
        row = (self.usage.of_stopped_turn if is_stopped else self.usage.of_turn)(view.usage, view.context)
        if row:
            self._diagnostics.prose(row, DIM, indent="  ")

    def show_changes_of(self, call_id: str) -> None:
        """Show the changes of this call at its end, because they differ from what the user approved."""
        self._changed.add(call_id)

    def _created(self, event: MessageCreated) -> None:
        row = event.message
        if event.task_id not in self._begun:
            self._begun.add(event.task_id)  # the first row of a task is its prompt, which the user has typed
            return
        if row.ask in APPROVAL_ASKS and row.call_id is not None:
            self._asked.add(row.call_id)
        elif row.say in SPOKEN:
            self._streaming, self._shown = row.ts, 0
            self._speak(row.text or "")
            if not row.partial:
                self._finish(row)
        elif row.say == "error" and row.text and row.call_id is None:  # errors of calls are shown with their end
            self._diagnostics.prose(f"! {ERRORS_IN_WORDS.get(row.text, row.text)}", RED, indent="  ")
        elif row.say == "condense_context":
            self._diagnostics.line("    (condensing the conversation)", DIM)

    def _started(self, event: ToolStart, show: Callable[[ToolStart], None]) -> None:
        if event.purpose is CallPurpose.SUBTASK:
            self._subtasks.add(event.call_id)
        # The user has seen the text of a call that they edited, so it is not shown again.
        if event.purpose not in SPEAKING and event.call_id not in self._changed:
            show(event)

    def _without_what_is_known(self, event: ToolEnd) -> ToolEnd:
        """Remove what the user knows: the diff of an approved call, and the duration of a subtask."""
        if event.call_id in self._subtasks:
            return msgspec.structs.replace(event, duration_ms=0)
        if event.call_id not in self._asked:
            return event
        is_known = isinstance(event.view, DiffView | DiffsView) and event.call_id not in self._changed
        shown = None if is_known else event.view
        return msgspec.structs.replace(event, view=shown)

    def _delta(self, event: TextDelta) -> None:
        if event.ts == self._streaming:
            self._speak(event.delta)

    def _updated(self, row: Message) -> None:
        if row.ts == self._streaming and not row.partial:
            self._finish(row)
        elif row.say == "condense_context_error":
            self._diagnostics.prose(f"! {row.text}", RED, indent="  ")

    def _speak(self, words: str) -> None:
        if words and not self._shown:
            self._diagnostics.gap()
        self._shown += len(words)
        self._diagnostics.words(words)

    def _finish(self, row: Message) -> None:
        self._speak((row.text or "")[self._shown :])
        if self._shown and self._diagnostics.is_open:
            self._diagnostics.words("\n")
        self._streaming = None
