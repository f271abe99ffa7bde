"""The live rows above the input: calls, a pause before a retry, the plan, background work, the queue."""

from collections.abc import Iterator
from typing import Final

from robota.clients.terminal.width import columns_of, cut_columns, wrapped
from robota.clients.tui.theme import Role, Theme
from robota.clients.tui.workspace_paths import relative_call
from robota.clients.view.model import RUNNING, LiveTool, ViewModel
from robota.clients.view.transcript import retry_in_words
from robota.protocol.asks.ask import CompletionAsk, ResumeAsk
from robota.protocol.asks.kinds import APPROVAL_ASKS
from robota.protocol.calls import ENDED, SPEAKING, BackgroundStatus, BackgroundTask
from robota.text.visible import single_line

RUNNING_MARK: Final = "□"
ENDED_MARK: Final = "■"
MARK_WIDTH: Final = 2
OUTPUT_ROWS: Final = 4
TODO_ROWS: Final = 6
QUEUE_ROWS: Final = 3
BACKGROUND_ROWS: Final = 4
BACKGROUND_ROLES: Final = {
    BackgroundStatus.QUEUED: Role.DIM,
    BackgroundStatus.WAITING_PERMISSION: Role.WARNING,
    BackgroundStatus.RUNNING: Role.ACTIVE,
    BackgroundStatus.COMPLETED: Role.SUCCESS,
    BackgroundStatus.FAILED: Role.ERROR,
    BackgroundStatus.CANCELLED: Role.WARNING,
}
WAITING: Final = {
    BackgroundStatus.QUEUED: "waits for its turn",
    BackgroundStatus.WAITING_PERMISSION: "waits for your answer",
}
UNREAD: Final = "unread"
TOOLS_SHOWN: Final = 5
TITLE_LENGTH: Final = 300
END_SHOWN: Final = 30
# The role of the box, and of the text.
TODO_LOOKS: Final = {
    "completed": (Role.SUCCESS, Role.DIM),
    "in_progress": (Role.ACTIVE, Role.BOLD),
}
TO_BACKGROUND: Final = "Ctrl+B lets it go on in the background"
RETRIES: Final = "Enter retries now"
PENDING_LOOK: Final = (Role.DIM, Role.PLAIN)


def live_rows(
    view: ViewModel, theme: Theme, width: int, retry_s: int | None = None, enter: str = RETRIES
) -> Iterator[str]:
    """Everything that is not finished, the newest at the end.

    `retry_s` is the time until the next retry in seconds; `enter` says what Enter does until then.
    """
    yield from _calls(view, theme, width)
    if view.retry is not None:
        words = wrapped(f"! {retry_in_words(view.retry, retry_s)}", width, "  ")
        yield from (theme.row([(line, Role.WARNING)], width) for line in words.split("\n"))
        yield theme.row([(f"  {enter}, Esc stops.", Role.DIM)], width)
    if not _is_over(view) and any(todo.status != "completed" for todo in view.todos):
        yield from _todos(view, theme, width)
    yield from _background(view, theme, width)
    for queued in view.queue[:QUEUE_ROWS]:
        when = "  queued: " if queued.after_turn else "  with the next request: "
        text = f"!{queued.text}" if queued.is_command else queued.text
        yield theme.row([(when, Role.DIM), (single_line(text, TITLE_LENGTH), Role.PLAIN)], width)
    if len(view.queue) > QUEUE_ROWS:
        yield theme.row([(f"  ... +{len(view.queue) - QUEUE_ROWS} queued", Role.DIM)], width)


def _background(view: ViewModel, theme: Theme, width: int) -> Iterator[str]:
    """Background processes and agents: running ones, completed ones until the user's next message, failed ones until
    dismissed. An agent that a call waits for is shown with the call."""
    shown = [task for task in view.background if task.is_background and task.id not in view.seen_background]
    if not shown:
        return
    yield theme.row([("Background work", Role.DIM)], width)
    for task in shown[-BACKGROUND_ROWS:]:
        mark = ENDED_MARK if task.status in ENDED else RUNNING_MARK
        doing = agent_action(view, task)
        details = [doing or task.preview] if doing or task.preview else []
        if task.signal is not None:
            details.insert(0, f"ended by {task.signal}")
        elif task.exit_code:
            details.insert(0, f"exit code {task.exit_code}")
        if task.limit is not None:
            details.insert(0, task.limit)
        if task.is_unread:
            details.insert(0, UNREAD)
        pieces = [(f"  {mark} ", BACKGROUND_ROLES[task.status]), (task.command, Role.PLAIN)]
        yield theme.row([*pieces, ("".join(f"  {each}" for each in details), Role.DIM)], width)
    if len(shown) > BACKGROUND_ROWS:
        yield theme.row([(f"  ... +{len(shown) - BACKGROUND_ROWS} more: /background", Role.DIM)], width)


def agent_action(view: ViewModel, agent: BackgroundTask) -> str:
    """What an agent does now, in a few words; empty if it has ended, or is thinking."""
    if agent.status in WAITING:
        return WAITING[agent.status]
    other = view.others.get(agent.task_id or "")
    return "" if other is None else single_line(other.action, TITLE_LENGTH)


def _is_over(view: ViewModel) -> bool:
    """Whether the task is over, so that its plan is no longer of interest; `/todos` still shows it."""
    ask = view.pending_ask
    return view.has_ended or (ask is not None and isinstance(ask.asked, CompletionAsk | ResumeAsk))


def _calls(view: ViewModel, theme: Theme, width: int) -> Iterator[str]:
    ask = view.pending_ask
    asked = ask.message.call_id if ask is not None and ask.message.ask in APPROVAL_ASKS else None
    running = [
        tool
        for tool in view.tools.values()
        if tool.status == RUNNING and tool.purpose not in SPEAKING and tool.call_id != asked
    ]
    workspace = "" if view.session is None else view.session.cwd
    for tool in running[-TOOLS_SHOWN:]:
        title = shortened(title_of(relative_call(tool, workspace)), width - MARK_WIDTH)
        yield theme.row([(f"{RUNNING_MARK} ", Role.ACTIVE), (title, Role.BOLD)], width)
        lines = [line for line in tool.output.replace("\r", "\n").split("\n") if line.strip()]
        for line in lines[-OUTPUT_ROWS:]:
            yield theme.row([(f"    {line}", Role.DIM)], width)
        for agent in view.background:
            if agent.call_id == tool.call_id and (doing := agent_action(view, agent)):
                yield theme.row([(f"    {doing}", Role.DIM)], width)
        if ask is not None and ask.message.ask == "command_output" and ask.message.call_id == tool.call_id:
            yield theme.row([(f"    {TO_BACKGROUND}", Role.DIM)], width)
    for call in list(view.writing.values())[-TOOLS_SHOWN:]:
        what = single_line(call.first_arg or "", TITLE_LENGTH)
        # A call has a title only when it is complete; until then, show the name of its tool.
        name = call.tool.replace("_", " ").capitalize()
        yield theme.row([(f"{RUNNING_MARK} ", Role.DIM), (f"{name} {what} …", Role.DIM)], width)


def shortened(title: str, width: int) -> str:
    """A title shortened in its middle, because its end is as important as its beginning."""
    if columns_of(title) <= width:
        return title
    end, most = "", min(END_SHOWN, width // 2)
    for character in reversed(title):
        if columns_of(character + end) > most:
            break
        end = character + end
    return f"{cut_columns(title, width - columns_of(end))}{end}"


def title_of(tool: LiveTool) -> str:
    """A call on one line."""
    return single_line(tool.title or f"{tool.label} {tool.first_arg}".rstrip(), TITLE_LENGTH)


def _todos(view: ViewModel, theme: Theme, width: int) -> Iterator[str]:
    """The plan from the last completed item on; for a long plan, the part in progress."""
    current = next((index for index, todo in enumerate(view.todos) if todo.status != "completed"), 0)
    first = max(0, min(current - 1, len(view.todos) - TODO_ROWS))
    done = sum(todo.status == "completed" for todo in view.todos)
    yield theme.row([(f"Plan ({done} of {len(view.todos)} done)", Role.DIM)], width)
    for todo in view.todos[first : first + TODO_ROWS]:
        mark = theme.glyphs.done if todo.status == "completed" else theme.glyphs.open
        mark_role, text_role = TODO_LOOKS.get(todo.status, PENDING_LOOK)
        yield theme.row([(f"  {mark} ", mark_role), (single_line(todo.content, TITLE_LENGTH), text_role)], width)
