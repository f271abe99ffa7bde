"""The status bar: current activity, permission mode, usage of the context window, and cost."""

from collections.abc import Sequence
from typing import Final

import msgspec

from robota.clients.terminal.width import columns_of
from robota.clients.tui.flows.entered_text import blocking_ask, is_running
from robota.clients.tui.theme import Piece, Role, Theme, safe
from robota.clients.tui.widgets.live_rows import shortened, title_of
from robota.clients.tui.workspace_paths import relative_call
from robota.clients.view.model import RUNNING, LiveTool, ViewModel
from robota.protocol.asks.ask import CompletionAsk, ResumeAsk
from robota.protocol.calls import ENDED, CallPurpose
from robota.protocol.message import SPOKEN
from robota.protocol.permission_mode import PermissionMode
from robota.text.visible import single_line

NEARLY_FULL: Final = 90
FILLING_UP: Final = 70
SEPARATOR: Final = " | "
ALWAYS_SHOWN: Final = 2  # the highest rank of a field that is not switched off with the bar
MAX_TITLE_WIDTH: Final = 40
# From these times on, the bar says that nothing arrives: in an answer, and before its first word.
STALLED_S: Final = 8
SLOW_START_S: Final = 20
USUAL_TASK_MODE: Final = "code"
MODE_ROLES: Final = {
    PermissionMode.PLAN: Role.ACTIVE,
    PermissionMode.ACCEPT_EDITS: Role.WARNING,
    PermissionMode.CONFINED: Role.WARNING,
    PermissionMode.BYPASS: Role.ERROR,
}


class StatusFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What the bar shows in addition to the view: the branch, and how long something has been running.

    If `is_short`, only the current activity, the permission mode and the sandbox, which are never hidden.
    """

    git_branch: str = ""
    seconds: int = 0
    silent_s: int = 0  # since the session reported anything
    is_short: bool = False


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """A field of the bar. If not all fit, those with the highest `rank` are dropped first."""

    piece: Piece
    rank: int


def status_row(view: ViewModel, facts: StatusFacts, theme: Theme, width: int) -> str:
    """The bar on one row; a narrow terminal shows fewer fields."""
    fields = [field for field in _fields(view, facts) if field.piece[0]]
    fields = [field for field in fields if field.rank <= ALWAYS_SHOWN or not facts.is_short]
    while len(fields) > 1 and _columns(fields) > width:
        fields.remove(max(fields, key=lambda field: field.rank))
    pieces: list[Piece] = []
    for field in fields:
        pieces += [(SEPARATOR, Role.DIM), field.piece] if pieces else [field.piece]
    return theme.row(pieces, width)


def activity(view: ViewModel, seconds: int = 0, silent_s: int = 0) -> Piece:
    """The most important current activity: an ask, calls, the model, the background, the queue, else idle."""
    running = [
        tool for tool in view.tools.values() if tool.status == RUNNING and tool.purpose is not CallPurpose.SUBTASK
    ]
    time = f" {seconds}s" if seconds else ""
    queued = f" ({len(view.queue)} queued)" if view.queue else ""
    ask = blocking_ask(view)
    if ask is not None and not isinstance(ask.asked, CompletionAsk | ResumeAsk):
        return "Waiting for you", Role.WARNING
    if running and is_running(view):
        more = f" (+{len(running) - 1})" if len(running) > 1 else ""
        return f"{_what_runs(running[-1], view)}{more}{time}{queued}", Role.ACTIVE
    if view.retry is not None:
        return f"Waiting to retry{queued}", Role.WARNING
    if is_running(view):
        return _model_activity(view, time + queued, silent_s)
    if background := _running_beside(view):
        return f"Background x{background}{queued}", Role.ACTIVE
    return ("Queued", Role.WARNING) if view.queue else ("Idle", Role.DIM)


def beside(view: ViewModel) -> str:
    """What is in the background, where the activity does not say so: how much runs, how much has ended unread."""
    running = _running_beside(view) if is_running(view) else 0
    unread = sum(task.is_unread for task in view.background)
    counts = (f"Background x{running}" if running else "", f"{unread} unread" if unread else "")
    return ", ".join(filter(None, counts))


def _running_beside(view: ViewModel) -> int:
    return sum(task.status not in ENDED and task.is_background for task in view.background)


def short_number(number: int) -> str:
    """A short form of a token count: 90K, 1.2M."""
    if number < 1000:
        return str(number)
    thousands = number / 1000
    return f"{thousands:.0f}K" if thousands < 1000 else f"{thousands / 1000:.1f}M".replace(".0M", "M")


def _fields(view: ViewModel, facts: StatusFacts) -> Sequence[Field]:
    session = view.session
    if session is None:
        return (Field(piece=("Starting", Role.DIM), rank=0),)
    mode = session.permission_mode
    task_mode = "" if session.mode == USUAL_TASK_MODE else f" ({session.mode})"
    sandbox = session.sandbox
    unconfined = sandbox in ("none", "off")
    return (
        Field(piece=activity(view, facts.seconds, facts.silent_s), rank=0),
        Field(piece=("Esc stops" if _can_be_stopped(view) else "", Role.DIM), rank=3),
        Field(piece=(beside(view), Role.ACTIVE), rank=3),
        Field(piece=(f"Mode: {mode.value}{task_mode}", MODE_ROLES.get(mode, Role.PLAIN)), rank=1),
        Field(piece=(f"sandbox: {sandbox if unconfined else 'on'}", Role.ERROR if unconfined else Role.DIM), rank=2),
        Field(piece=(session.name or "", Role.NAME), rank=7),
        Field(piece=(f"git: {facts.git_branch}" if facts.git_branch else "", Role.DIM), rank=8),
        Field(piece=(session.model, Role.PLAIN), rank=5),
        Field(piece=_context(view), rank=4),
        Field(piece=(_cost(view), Role.DIM), rank=6),
    )


def _what_runs(tool: LiveTool, view: ViewModel) -> str:
    """A command as it was written, other calls by their title."""
    workspace = "" if view.session is None else view.session.cwd
    title = single_line(title_of(relative_call(tool, workspace)).removeprefix("Bash "))
    return shortened(title, MAX_TITLE_WIDTH)


def _model_activity(view: ViewModel, more: str, silent_s: int) -> Piece:
    """The activity of the model. A stalled stream would otherwise look like a slow one."""
    is_answering = _is_answering(view)
    words = f"{'Answering' if is_answering else 'Thinking'}{more}"
    if silent_s < (STALLED_S if is_answering else SLOW_START_S):
        return words, Role.ACTIVE
    nothing = f"silent for {silent_s}s" if is_answering else "nothing received yet"
    return f"{words}, {nothing}", Role.WARNING


def _is_answering(view: ViewModel) -> bool:
    """Whether the model is streaming text, so that it is no longer thinking."""
    newest = view.rows.last()
    return newest is not None and newest.partial is True and newest.say in SPOKEN


def _can_be_stopped(view: ViewModel) -> bool:
    """Whether the model or a call is running and nothing waits for the user; an open question names its own keys."""
    return is_running(view) and blocking_ask(view) is None and view.retry is None


def _context(view: ViewModel) -> Piece:
    context = view.context
    if context is None or not context.max_tokens:
        return "", Role.PLAIN
    used = context.used_percentage
    role = Role.ERROR if used >= NEARLY_FULL else Role.WARNING if used >= FILLING_UP else Role.SUCCESS
    tokens = f"{'about ' if context.is_estimated else ''}{short_number(context.used_tokens)}"
    return f"Context: {used:.0f}% ({tokens}/{short_number(context.max_tokens)})", role


def _cost(view: ViewModel) -> str:
    usage = view.usage
    limits = [account.limit["money"] for account in usage.budget if "money" in account.limit]
    of_limit = f" of ${limits[0] / 1_000_000:.2f}" if limits else ""
    return f"${usage.total_cost:.4f}{of_limit}" if usage.total_cost else ""


def _columns(fields: Sequence[Field]) -> int:
    return sum(columns_of(safe(field.piece[0])) for field in fields) + len(SEPARATOR) * (len(fields) - 1)
