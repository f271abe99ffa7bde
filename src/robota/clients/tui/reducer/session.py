"""Events of the session: update the view, print what is finished, and ask the user."""

from typing import Final

from robota.clients.answering.question_line import words_for
from robota.clients.tui.effects import (
    After,
    NoteUsage,
    NoticeOnPage,
    NotifyUser,
    PrintEvent,
    PrintLines,
    PrintPast,
    PrintUsage,
)
from robota.clients.tui.events import SecondPassed, SessionOpened
from robota.clients.tui.flows.entered_text import Written, blocking_ask, is_running, is_working, words_for_session
from robota.clients.tui.flows.prompt_history import prompts_in
from robota.clients.tui.reducer.sending import send, take_all_back
from robota.clients.tui.reducer.step import ScreenStep
from robota.clients.tui.state import AskedApproval
from robota.clients.tui.theme import Role
from robota.clients.tui.workspace_paths import relative_ask
from robota.clients.view.model import OpenAsk, ViewModel, open_ask
from robota.clients.view.other_tasks import OtherTask
from robota.clients.view.reduce import is_of_other_task, reduce, windowed
from robota.protocol.asks.ask import ApprovalAsk, CompletionAsk, QuestionAsk, ResumeAsk
from robota.protocol.asks.kinds import is_non_blocking_ask
from robota.protocol.events import (
    Event,
    MessageCreated,
    Notice,
    PartialMessage,
    QueuedMessagesUpdated,
    RetryScheduled,
    RewindPoints,
    Rewound,
    State,
    TaskAborted,
    TaskAskResponded,
    TaskEvent,
    TaskTokenUsageUpdated,
    TextDelta,
    ToolCallDelta,
)

# Printed rows belong to the terminal; only this many are kept, for later changes.
MAX_PAGES: Final = 2
# They come by the thousand, and change nothing but a text that is being streamed.
GROWING: Final = (TextDelta, PartialMessage, ToolCallDelta)
AWAY_S: Final = 10.0
SECOND: Final = 1.0
ASK_ROLES: Final = {"?": Role.BOLD, "!": Role.ERROR}
WAITING: Final = "Robota is waiting for you"
DONE: Final = "Robota is done"
QUESTION_BEHIND: Final = "? Robota has a question: press Esc to return to it."


def opened(step: ScreenStep, event: SessionOpened) -> ScreenStep:
    """The first state of the session; a prompt begins the conversation."""
    step = step.change(view=reduce(step.state.view, event.event), git_branch=event.git_branch)
    step = _show_past(step, is_shown=event.is_past_shown)
    if event.prompt is not None:
        written = Written(text=event.prompt)
        return send(step, words_for_session(written, step.state.view), written)
    for ask in step.state.view.open_asks:
        step = step if is_non_blocking_ask(ask.message.ask) else _ask(step, ask)
    return step


def happened(step: ScreenStep, event: Event) -> ScreenStep:
    """A later event of the session."""
    if isinstance(event, GROWING):
        return step.change(view=reduce(step.state.view, event), last_news_at=step.state.now).plus(PrintEvent(event))
    step = _changed(step, event)
    return _noticed(step, event) if isinstance(event, Notice) else step


def _noticed(step: ScreenStep, notice: Notice) -> ScreenStep:
    return step if notice.undo_call is None else step.change(undo_call=notice.undo_call)


def _changed(step: ScreenStep, event: Event) -> ScreenStep:
    """An event that changes what the session is shown as."""
    before, view = step.state.view, windowed(reduce(step.state.view, event), MAX_PAGES)
    step = step.change(view=view, last_news_at=step.state.now).plus(PrintEvent(event))
    if isinstance(event, TaskEvent) and is_of_other_task(view, event):
        return _watch_work(_changed_beside(step, before, event))
    match event:
        case MessageCreated(message=message) if message.ask and (ask := blocking_ask(view)):
            step = _ask(step, ask)
        case TaskAskResponded(ts=ts) if step.state.approval is not None:
            from robota.clients.tui.reducer.approvals import answered

            step = answered(step, ts)
        case TaskAborted():
            step = _withdraw_approvals(step)
        case RetryScheduled(delay_ms=delay_ms):
            step = step.change(retry_at=step.state.now + delay_ms / 1000)
        case TaskTokenUsageUpdated(token_usage=used) if not is_running(view):
            step = step.plus(NoteUsage(used))
        case QueuedMessagesUpdated() if step.state.dialog is not None:
            from robota.clients.tui.reducer.dialogs import queue_changed

            step = queue_changed(step)
        case Rewound() | RewindPoints():
            step = _rewound(step, event)
        case State() if blocking_ask(view) is None:
            step = _withdraw_approvals(step)
    return _watch_work(step)


def _changed_beside(step: ScreenStep, before: ViewModel, event: TaskEvent) -> ScreenStep:
    """An event of another task, such as an agent: it may ask something, or withdraw what it asked."""
    asked_before = before.others.get(event.task_id, OtherTask()).asks
    asked_now = step.state.view.others.get(event.task_id, OtherTask()).asks
    for row in asked_now:
        step = step if row in asked_before else _ask(step, open_ask(row))
    for row in asked_before:
        if row not in asked_now and step.state.approval is not None:
            from robota.clients.tui.reducer.approvals import answered

            step = answered(step, row.ts)
    return step


def second_passed(step: ScreenStep, since: float) -> ScreenStep:
    """Let the clock of the status bar run as long as the same work goes on."""
    return step.plus(After(SECOND, SecondPassed(since))) if step.state.working_since == since else step


def _show_past(step: ScreenStep, *, is_shown: bool) -> ScreenStep:
    """Show the conversation of a resumed session."""
    view = step.state.view
    if not len(view.rows):
        return step
    from robota.clients.render.past_rows import PastConversation

    session = view.session
    older = session.older_rows if session is not None else 0
    past = PastConversation(rows=tuple(view.rows), calls=view.past_calls, older=older)
    step = step.change(draft=step.state.draft.remembering(prompts_in(view.rows)))
    return step.plus(PrintPast(past, session.current_task_id if session is not None else None, is_shown))


def _withdraw_approvals(step: ScreenStep) -> ScreenStep:
    if step.state.approval is None:
        return step
    from robota.clients.tui.reducer.approvals import withdrawn

    return withdrawn(step)


def _ask(step: ScreenStep, ask: OpenAsk) -> ScreenStep:
    """Show an ask to the user. A requested stop is complete by then."""
    step = step.change(is_stopping=False)
    match ask.asked or QuestionAsk(question=ask.message.text or ""):
        case ApprovalAsk() as approval:
            from robota.clients.tui.reducer.approvals import asked as ask_for_approval

            session = step.state.view.session
            approval = relative_ask(approval, "" if session is None else session.cwd)
            step = ask_for_approval(step, AskedApproval(approval, ask.message))
        case CompletionAsk():
            step = _print_usage(step)
            step = take_all_back(step) if step.state.view.has_ended else step
        case asked:
            if isinstance(asked, ResumeAsk):
                step = _print_usage(step, is_stopped=True)
                step = take_all_back(_withdraw_approvals(step))
            words = words_for(asked, "press Esc")
            if isinstance(asked, QuestionAsk) and asked.suggestions:
                words = words[:1]  # the answers are shown above the input
            for line in words:
                step = step.tell(line, ASK_ROLES.get(line[:1], Role.PLAIN))
    is_away = step.state.now - step.state.last_key_at > AWAY_S
    if isinstance(ask.asked, CompletionAsk):
        return step.plus(NotifyUser(DONE, is_away))
    return step.plus(NoticeOnPage(QUESTION_BEHIND), NotifyUser(WAITING, is_away))


def _print_usage(step: ScreenStep, *, is_stopped: bool = False) -> ScreenStep:
    view = step.state.view
    return step.plus(PrintUsage(used=view.usage, context=view.context, is_stopped=is_stopped))


def _rewound(step: ScreenStep, event: Rewound | RewindPoints) -> ScreenStep:
    """The user may choose where to rewind to; or the session was rewound, and the prompt is in the input again."""
    from robota.clients.render.rewind_lines import result_lines
    from robota.clients.terminal.line import Line
    from robota.clients.tui.reducer.dialogs import open_rewind_list

    if isinstance(event, Rewound):
        step = step.plus(PrintLines(tuple(map(Line, result_lines(event.result)))))
        text = event.result.draft
        return step.change(draft=step.state.draft.restored(Written(text=text))) if text else step
    return open_rewind_list(step, event.points)


def _watch_work(step: ScreenStep) -> ScreenStep:
    """Start or stop the clock of the status bar, which runs while the agent works."""
    state = step.state
    if not is_working(state.view) or blocking_ask(state.view) is not None:
        return step if state.working_since is None else step.change(working_since=None)
    if state.working_since is not None:
        return step
    step = step.change(working_since=state.now)
    return step if state.colours.chosen.reduces_motion else step.plus(After(SECOND, SecondPassed(state.now)))
