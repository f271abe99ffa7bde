"""The reducer of the view model: how each event changes it."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from robota.clients.view.model import RUNNING, CallBeingWritten, LiveTool, StreamedText, ViewModel
from robota.clients.view.other_tasks import other_tasks_of, with_event
from robota.clients.view.rows import PAGE_SIZE, rows_of
from robota.protocol.calls import BackgroundStatus, CallPurpose
from robota.protocol.events import (
    BackgroundTasks,
    ContextUpdate,
    Event,
    MessageCreated,
    MessageUpdated,
    Notice,
    OlderRows,
    PartialMessage,
    QueuedMessagesUpdated,
    RetryScheduled,
    Sandbox,
    State,
    TaskAborted,
    TaskAskResponded,
    TaskEnded,
    TaskEvent,
    TaskModeSwitched,
    TaskTokenUsageUpdated,
    TaskUserMessage,
    TextDelta,
    Thinking,
    TodosUpdated,
    ToolCallDelta,
    ToolEnd,
    ToolStart,
    TurnReply,
)
from robota.protocol.message import Message
from robota.protocol.state import is_request_row

OUTPUT_TAIL_CHARS: Final = 4096
NOTICES_KEPT: Final = 20

K = TypeVar("K")
V = TypeVar("V")


def reduce(view: ViewModel, event: Event) -> ViewModel:
    """The view after `event`. Pure; an event without effect returns the same value.

    The cost of an event does not grow with the conversation: maps hold only what is live, rows and texts
    share their pages with the value before.
    """
    if is_of_other_task(view, event):
        others = with_event(view.others, event)
        return view if others is view.others else replace(view, others=others)
    step = STEPS.get(type(event))
    return view if step is None else step(view, event)


def is_of_other_task(view: ViewModel, event: Event) -> bool:
    """Whether the event belongs to a task beside the one that is shown."""
    shown = None if view.session is None else view.session.current_task_id
    return shown is not None and isinstance(event, TaskEvent) and event.task_id != shown


def windowed(view: ViewModel, pages: int) -> ViewModel:
    """The view with only the newest rows, for a client that has printed the others; those count as older."""
    dropped = len(view.rows.pages) - pages
    if dropped <= 0 or view.session is None:
        return view
    session = replace(view.session, older_rows=view.session.older_rows + dropped * PAGE_SIZE)
    return replace(view, rows=view.rows.newest(pages), past_calls=(), session=session)


def _state(view: ViewModel, event: State) -> ViewModel:
    """A full state. If it is about another task, only what belongs to the session is kept, and calls that wait for a
    subtask."""
    state = event.state
    rows = rows_of(state.cline_messages)
    same_task = view.session is not None and view.session.current_task_id == state.current_task_id
    return replace(
        view if same_task else _of_session(view),
        session=replace(state, cline_messages=(), calls=()),
        rows=rows,
        past_calls=state.calls,
        streams={},
        request=next((row for row in reversed(rows) if is_request_row(row)), None),
        queue=state.message_queue,
        todos=state.todos,
        others=other_tasks_of(state.open_tasks, state.current_task_id, view.others),
    )


def _of_session(view: ViewModel) -> ViewModel:
    waiting = {
        call_id: tool
        for call_id, tool in view.tools.items()
        if tool.status == RUNNING and tool.purpose is CallPurpose.SUBTASK
    }
    return ViewModel(
        notices=view.notices,
        background=view.background,
        seen_background=view.seen_background,
        kept_out=view.kept_out,
        tools=waiting,
    )


def _older_rows(view: ViewModel, event: OlderRows) -> ViewModel:
    """Add rows that come right before the known ones; ignore others, which another client requested."""
    session = view.session
    is_before = session is not None and session.older_rows == event.older_rows + len(event.messages)
    if session is None or not is_before:
        return view
    rows = rows_of((*event.messages, *view.rows))
    session = replace(session, older_rows=event.older_rows)
    return replace(view, rows=rows, past_calls=(*event.calls, *view.past_calls), session=session)


def _message_created(view: ViewModel, event: MessageCreated) -> ViewModel:
    message = event.message
    return replace(
        view,
        rows=view.rows.appended(message),
        request=message if is_request_row(message) else view.request,
        retry=None if message.type == "ask" else view.retry,
        has_ended=False,
        tools=_with_output_of(message, view.tools),
    )


def _message_updated(view: ViewModel, event: MessageUpdated) -> ViewModel:
    message = event.message
    index = view.rows.index_of(message.ts)
    if index is None:
        return _message_created(view, MessageCreated(task_id=event.task_id, message=message))
    before = view.rows[index]
    rows = view.rows.replaced(index, message)
    request = view.request
    if is_request_row(before) or is_request_row(message):
        request = next((row for row in reversed(rows) if is_request_row(row)), None)
    return replace(
        view,
        rows=rows,
        request=request,
        streams=_without(view.streams, message.ts),
        tools=_with_output_of(message, view.tools),
    )


def _delta(view: ViewModel, event: PartialMessage | TextDelta) -> ViewModel:
    """Add text to a streaming row; ignored if the row is unknown or finished."""
    index = view.rows.index_of(event.ts)
    if index is None or view.rows[index].partial is not True:
        return view
    streams = {**view.streams, event.ts: view.streams.get(event.ts, NO_TEXT).plus(event.delta)}
    tool = view.tools.get(view.rows[index].call_id or "")
    if tool is None:
        return replace(view, streams=streams)
    tool = replace(tool, output=(tool.output + event.delta)[-OUTPUT_TAIL_CHARS:])
    return replace(view, streams=streams, tools={**view.tools, tool.call_id: tool})


def _with_output_of(row: Message, tools: Mapping[str, LiveTool]) -> Mapping[str, LiveTool]:
    tool = tools.get(row.call_id or "")
    if tool is None or row.say != "command_output":
        return tools
    return {**tools, tool.call_id: replace(tool, output=(row.text or "")[-OUTPUT_TAIL_CHARS:])}


def _tool_call_delta(view: ViewModel, event: ToolCallDelta) -> ViewModel:
    call = view.writing.get(event.call_id) or CallBeingWritten(call_id=event.call_id, tool=event.tool)
    call = replace(call, first_arg=event.first_arg or call.first_arg, arguments=call.arguments.plus(event.delta))
    return replace(view, writing={**view.writing, event.call_id: call})


def _thinking(view: ViewModel, event: Thinking) -> ViewModel:
    """A new request removes the finished tools and unfinished calls of the previous one."""
    if not event.is_thinking:
        return replace(view, is_thinking=False)
    running = {call_id: tool for call_id, tool in view.tools.items() if tool.status == RUNNING}
    return replace(view, is_thinking=True, retry=None, writing={}, tools=running)


def _turn_reply(view: ViewModel, event: TurnReply) -> ViewModel:
    return replace(view, writing={}, retry=None)


def _tool_start(view: ViewModel, event: ToolStart) -> ViewModel:
    tool = LiveTool(
        call_id=event.call_id,
        tool=event.tool,
        label=event.label,
        first_arg=event.first_arg,
        title=event.title,
        purpose=event.purpose,
    )
    return replace(view, tools={**view.tools, event.call_id: tool}, writing=_without(view.writing, event.call_id))


def _tool_end(view: ViewModel, event: ToolEnd) -> ViewModel:
    before = view.tools.get(event.call_id)
    tool = LiveTool(
        call_id=event.call_id,
        tool=event.tool,
        label=event.label,
        first_arg=event.first_arg,
        title=before.title if before is not None else "",
        purpose=before.purpose if before is not None else CallPurpose.WORK,
        status=event.status,
        output=before.output if before is not None else "",
        duration_ms=event.duration_ms,
        reason=event.reason,
        view=event.view,
    )
    return replace(view, tools={**view.tools, event.call_id: tool}, writing=_without(view.writing, event.call_id))


def _task_aborted(view: ViewModel, event: TaskAborted) -> ViewModel:
    return replace(view, is_thinking=False, retry=None, writing={})


def _task_ended(view: ViewModel, event: TaskEnded) -> ViewModel:
    return replace(view, is_thinking=False, retry=None, writing={}, has_ended=True)


def _mode_switched(view: ViewModel, event: TaskModeSwitched) -> ViewModel:
    return view if view.session is None else replace(view, session=replace(view.session, mode=event.mode))


def _notice(view: ViewModel, event: Notice) -> ViewModel:
    return replace(view, notices=(*view.notices, event)[-NOTICES_KEPT:])


def _sandbox(view: ViewModel, event: Sandbox) -> ViewModel:
    view = replace(view, kept_out=event.keeps_out)
    return view if view.session is None else replace(view, session=replace(view.session, sandbox=event.kind))


def _without(entries: Mapping[K, V], key: K) -> Mapping[K, V]:
    if key not in entries:
        return entries
    return {other: value for other, value in entries.items() if other != key}


def _retry_scheduled(view: ViewModel, event: RetryScheduled) -> ViewModel:
    return replace(view, retry=event)


def _context_update(view: ViewModel, event: ContextUpdate) -> ViewModel:
    return replace(view, context=event)


def _ask_responded(view: ViewModel, event: TaskAskResponded) -> ViewModel:
    return replace(view, answered_ts=event.ts)


def _queue_updated(view: ViewModel, event: QueuedMessagesUpdated) -> ViewModel:
    return replace(view, queue=event.queue)


def _todos_updated(view: ViewModel, event: TodosUpdated) -> ViewModel:
    return replace(view, todos=event.todos)


def _usage_updated(view: ViewModel, event: TaskTokenUsageUpdated) -> ViewModel:
    return replace(view, usage=event.token_usage)


def _background(view: ViewModel, event: BackgroundTasks) -> ViewModel:
    return replace(view, background=event.tasks)


def _user_spoke(view: ViewModel, event: TaskUserMessage) -> ViewModel:
    """A message of the user marks background processes that completed as seen."""
    ended = (task.id for task in view.background if task.status is BackgroundStatus.COMPLETED)
    return replace(view, seen_background=view.seen_background.union(ended))


NO_TEXT: Final = StreamedText()

STEPS: Final[dict[type, Callable[[ViewModel, Any], ViewModel]]] = {
    State: _state,
    OlderRows: _older_rows,
    MessageCreated: _message_created,
    MessageUpdated: _message_updated,
    PartialMessage: _delta,
    TextDelta: _delta,
    ToolCallDelta: _tool_call_delta,
    Thinking: _thinking,
    TurnReply: _turn_reply,
    ToolStart: _tool_start,
    ToolEnd: _tool_end,
    ContextUpdate: _context_update,
    RetryScheduled: _retry_scheduled,
    TaskAborted: _task_aborted,
    TaskEnded: _task_ended,
    TaskModeSwitched: _mode_switched,
    TaskAskResponded: _ask_responded,
    QueuedMessagesUpdated: _queue_updated,
    TodosUpdated: _todos_updated,
    TaskTokenUsageUpdated: _usage_updated,
    Notice: _notice,
    Sandbox: _sandbox,
    BackgroundTasks: _background,
    TaskUserMessage: _user_spoke,
}
