"""Process the replies of the session to submitted commands."""

from typing import Final, assert_never

from msgspec.structs import replace

from robota.clients.tui.effects import (
    After,
    AnyCommand,
    CompletionRequest,
    RemoveFromQueue,
    SentText,
    SlashRequest,
    StopRequest,
    Submit,
    TakeBack,
)
from robota.clients.tui.events import CompletionDue, Received
from robota.clients.tui.flows.completion_popup import popup_for
from robota.clients.tui.flows.entered_text import (
    Written,
    is_working,
)
from robota.clients.tui.reducer.sending import put_back
from robota.clients.tui.reducer.step import ScreenStep
from robota.protocol.commands import (
    Accepted,
    NewTask,
    QueueMessage,
    Receipt,
    Refused,
)

INDEXING_S: Final = 0.2
REMOVED: Final = "Removed from the queue. Press Ctrl+R to find it."


def received(step: ScreenStep, event: Received) -> ScreenStep:
    """Process the reply to a submitted command."""
    receipt = event.receipt
    match event.request:
        case AnyCommand():
            return step.refuse(receipt) if isinstance(receipt, Refused) else step
        case StopRequest():
            step = step.change(is_stopping=isinstance(receipt, Accepted) and is_working(step.state.view))
            return step.refuse(receipt) if isinstance(receipt, Refused) else step
        case SentText() as sent:
            return _text_received(step, sent, receipt)
        case CompletionRequest() as request:
            return _completed(step, request, receipt)
        case TakeBack(entry, is_quiet):
            if isinstance(receipt, Refused):
                return step if is_quiet else step.refuse(receipt)
            text = f"!{entry.text}" if entry.is_command else entry.text
            return put_back(step, Written(text=text, images=entry.images))
        case RemoveFromQueue():
            return step.refuse(receipt) if isinstance(receipt, Refused) else step.hint(REMOVED)
        case SlashRequest() as request:
            from robota.clients.tui.reducer.commands import command_ended

            return command_ended(step, request, receipt)
        case never:
            assert_never(never)


def _text_received(step: ScreenStep, sent: SentText, receipt: Receipt) -> ScreenStep:
    """If a task has ended or begun meanwhile, send the text as a new task or to wait; else a refusal puts it back."""
    if isinstance(receipt, Accepted):
        return step
    match receipt.code, sent.command:
        case "no_active_task", QueueMessage(text=text, images=images, is_command=is_command):
            new_task = NewTask(text=text, images=images, is_command=is_command)
            return step.plus(Submit(new_task, SentText(sent.written)))
        case "task_busy", NewTask(text=text, images=images, is_command=is_command):
            queued = QueueMessage(text=text, images=images, after_turn=True, is_command=is_command)
            return step.plus(Submit(queued, SentText(sent.written)))
        case _:
            return put_back(step.refuse(receipt), sent.written)


def _completed(step: ScreenStep, request: CompletionRequest, receipt: Receipt) -> ScreenStep:
    """Show completions, unless the text is another one by now; request them again while files are being indexed."""
    if step.state.draft.position != (request.text, request.caret):
        return step
    completion = receipt.completion if isinstance(receipt, Accepted) else None
    popup = popup_for(request.text, request.caret, completion)
    step = step.change(draft=replace(step.state.draft, completions=popup))
    if completion is None or completion.is_complete:
        return step
    return step.plus(After(INDEXING_S, CompletionDue(request.text, request.caret)))
