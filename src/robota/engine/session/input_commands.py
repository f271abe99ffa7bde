"""Commands with input of the user: answers, queued messages, and what to do with a running shell command."""

from typing import assert_never

from robota.contracts.workspace import Processes
from robota.engine.runtime.user_input import AskTable, MessageQueue, PendingAsk, is_answered_by_queue
from robota.engine.session.decision import NO_TASK, ChangeFailed, Decision, SessionChange, accepting, no_such_task
from robota.engine.session.snapshot import visible_runtime
from robota.engine.task.runner import TaskRunner
from robota.log.kinds.calls import AnsweredBy
from robota.protocol.asks.answer import Answer, Reject, Say
from robota.protocol.asks.ask import CompletionAsk
from robota.protocol.asks.kinds import NOTHING_TO_DO_ASKS
from robota.protocol.asks.seed import UnknownResponse, answer_in
from robota.protocol.commands import (
    Accepted,
    AskResponse,
    EditQueuedMessage,
    InputCommand,
    QueueMessage,
    Refused,
    RemoveQueuedMessage,
    TerminalOperation,
)
from robota.protocol.message import QueuedMessage

EMPTY_MESSAGE = Refused(code="empty_message", message="There is nothing to queue: no text and no image.")
STAYS_IN_FOREGROUND = Refused(
    code="stays_in_foreground",
    message="The command goes on as before, because it cannot be moved to the background: it runs confined without "
    "approval, it is not a command of the agent, or too many processes are there already.",
)
NO_COMMAND = Refused(code="no_command", message="No command is running.")


class InputCommands:
    """Decides on the commands that hand over input."""

    def __init__(self, runner: TaskRunner, asks: AskTable, queue: MessageQueue, processes: Processes) -> None:
        self._runner = runner
        self._asks = asks
        self._queue = queue
        self._processes = processes

    def decide(self, command: InputCommand, by: AnsweredBy | None, *, is_starting: bool) -> Decision[Accepted]:
        """What the command does. While a task `is_starting`, messages may be queued for it."""
        match command:
            case AskResponse():
                return self._response(command, by)
            case QueueMessage(task_id=task_id) if task_id is not None:
                return self._message_to(task_id, command, by)
            case QueueMessage():
                return self._message(command, by, is_starting=is_starting)
            case EditQueuedMessage() | RemoveQueuedMessage():
                queued = self._queue.find(command.id)
                return queued if isinstance(queued, Refused) else self._editing(queued, command)
            case TerminalOperation():
                return self._terminal_operation(command)
            case _:
                assert_never(command)

    def _editing(self, queued: QueuedMessage, command: EditQueuedMessage | RemoveQueuedMessage) -> Decision[Accepted]:
        if isinstance(command, RemoveQueuedMessage):
            return accepting(lambda: self._queue.remove(queued), queued.id)
        if not command.text.strip() and not command.images:
            return EMPTY_MESSAGE
        return accepting(lambda: self._queue.edit(queued, command), queued.id)

    def _response(self, command: AskResponse, by: AnsweredBy | None) -> Decision[Accepted]:
        try:
            answer = answer_in(command)
        except UnknownResponse as unknown:
            return Refused(code="unknown_response", message=str(unknown))
        if self._asks.is_about_output(command.ts):
            return self._response_to_output(answer)
        pending = self._asks.find(command.ts)
        return pending if isinstance(pending, Refused) else self.answering(pending, answer, by)

    def answering(self, pending: PendingAsk, answer: Answer, by: AnsweredBy | None) -> SessionChange[Accepted]:
        """Answer an open ask. If that ends the task, it has ended when the answer is accepted."""

        async def make() -> Accepted:
            is_end = pending.message.ask in NOTHING_TO_DO_ASKS and self._runner.ends_with(pending, answer)
            self._asks.settle(pending, answer, by)
            if is_end:
                await self._runner.end()
            return Accepted(id=str(pending.message.ts))

        return SessionChange(make)

    def _response_to_output(self, answer: Answer) -> Decision[Accepted]:
        """A no ends the command that shows output; words are queued."""
        if isinstance(answer, Reject):
            return self._terminal_operation(TerminalOperation(terminal_operation="abort"))
        if not answer.has_words:
            return accepting(lambda: None)
        return self._queueing(QueueMessage(text=answer.text, images=answer.images))

    def _message(self, command: QueueMessage, by: AnsweredBy | None, *, is_starting: bool) -> Decision[Accepted]:
        """Deliver the message at once if an open ask takes it as its answer; otherwise queue it."""
        if not command.text.strip() and not command.images:
            return EMPTY_MESSAGE
        runtime = visible_runtime(self._runner)
        if runtime is not None and (answering := self._delivering(command, runtime.task_id, by)) is not None:
            return answering
        return NO_TASK if self._runner.is_over and not is_starting else self._queueing(command)

    def _message_to(self, task_id: str, command: QueueMessage, by: AnsweredBy | None) -> Decision[Accepted]:
        """The same for one of several tasks. A task that its parent waits for shares the queue of its parent."""
        if not command.text.strip() and not command.images:
            return EMPTY_MESSAGE
        task = next((task for task in self._runner.open_tasks if task.runtime.task_id == task_id), None)
        if task is None or self._runner.is_over:
            return no_such_task(task_id)
        return self._delivering(command, task_id, by) or self._queueing(command, task.runtime.queue_id)

    def _delivering(self, command: QueueMessage, task_id: str, by: AnsweredBy | None) -> SessionChange[Accepted] | None:
        """The message as the answer to the open ask of the task; None if it has none that takes it."""
        pending = self._asks.newest_of(task_id)
        asked = None if pending is None else pending.message.asked
        is_for_later = (command.after_turn or command.is_command) and not isinstance(asked, CompletionAsk)
        if pending is None or not is_answered_by_queue(asked) or is_for_later:
            return None
        said = Say(text=command.text, images=command.images, is_command=command.is_command)
        return self.answering(pending, said, by)

    def _queueing(self, command: QueueMessage, queue_id: str | None = None) -> SessionChange[Accepted]:
        async def make() -> Accepted:
            return Accepted(id=self._queue.add(command, queue_id).id)

        return SessionChange(make)

    def _terminal_operation(self, command: TerminalOperation) -> Decision[Accepted]:
        match command.terminal_operation:
            case "continue":
                return accepting(lambda: None)
            case "abort":
                return accepting(self._processes.abort_running) if self._processes.is_running else NO_COMMAND
            case "background":
                return self._moving_to_background()
        return Refused(code="unknown_operation", message="The operation must be continue, abort or background.")

    def _moving_to_background(self) -> Decision[Accepted]:
        if not self._processes.is_running:
            return NO_COMMAND

        async def make() -> Accepted:
            if not self._processes.move_running():
                raise ChangeFailed(STAYS_IN_FOREGROUND)
            return Accepted()

        return SessionChange(make)
