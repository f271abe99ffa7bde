"""The status bar: current activity, permission mode, usage of the context window, and cost."""

from collections.abc import Sequence
from typing import Final

import msgspec

from robota.clients.terminal.width import columns_of
from robota.clients.tui.flows.entered_text import blocking_ask, is_running
from robota.clients.tui.theme import Piece, Role, Theme, safe
from robota.clients.view.model import RUNNING, ViewModel
from robota.protocol.asks.ask import CompletionAsk, ResumeAsk
from robota.protocol.calls import CallPurpose
from robota.protocol.events import BackgroundStatus
from robota.protocol.message import SPOKEN
from robota.protocol.permission_mode import PermissionMode

NEARLY_FULL: Final = 90
FILLING_UP: Final = 70
SEPARATOR: Final = " | "
ALWAYS_SHOWN: Final = 2  # the highest rank of a field that is not switched off with the bar
USUAL_TASK_MODE: Final = "code"
MODE_ROLES: Final = {
    PermissionMode.PLAN: Role.ACTIVE,
    PermissionMode.ACCEPT_EDITS: Role.WARNING,
    PermissionMode.BYPASS: Role.ERROR,
}


class StatusFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What the bar shows in addition to the view: the branch, and how long something has been running.

    If `is_short`, only the current activity, the permission mode and the sandbox, which are never hidden.
    """

    git_branch: str = ""
    seconds: int = 0
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


def activity(view: ViewModel, seconds: int = 0) -> Piece:
    """The most important current activity: an ask, calls, the model, the background, the queue, else idle."""
    running = sum(tool.status == RUNNING and tool.purpose is not CallPurpose.SUBTASK for tool in view.tools.values())
    time = f" {seconds}s" if seconds else ""
    queued = f" ({len(view.queue)} queued)" if view.queue else ""
    ask = blocking_ask(view)
    if ask is not None and not isinstance(ask.asked, CompletionAsk | ResumeAsk):
        return "Waiting for you", Role.WARNING
    if running and is_running(view):
        return f"Tools x{running}{time}{queued}", Role.ACTIVE
    if view.retry is not None:
        return f"Waiting to retry{queued}", Role.WARNING
    if is_running(view):
        return f"{'Answering' if _is_answering(view) else 'Thinking'}{time}{queued}", Role.ACTIVE
    background = sum(task.status is BackgroundStatus.RUNNING for task in view.background)
    if background:
        return f"Background x{background}{queued}", Role.ACTIVE
    return ("Queued", Role.WARNING) if view.queue else ("Idle", Role.DIM)


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
    count = len(view.rows) + session.older_rows
    unconfined = sandbox in ("none", "off")
    return (
        Field(piece=activity(view, facts.seconds), rank=0),
        Field(piece=("Esc stops" if _can_be_stopped(view) else "", Role.DIM), rank=3),
        Field(piece=(f"Mode: {mode.value}{task_mode}", MODE_ROLES.get(mode, Role.PLAIN)), rank=1),
        Field(piece=(f"sandbox: {sandbox or 'on'}", Role.ERROR if unconfined else Role.DIM), rank=2),
        Field(piece=(session.name or "", Role.NAME), rank=7),
        Field(piece=(f"git: {facts.git_branch}" if facts.git_branch else "", Role.DIM), rank=8),
        Field(piece=(session.model, Role.PLAIN), rank=5),
        Field(piece=_context(view), rank=4),
        Field(piece=(_cost(view), Role.DIM), rank=6),
        Field(piece=(f"msgs: {count}" if count else "", Role.DIM), rank=9),
    )


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
    if not usage.total_tokens_in and not usage.total_tokens_out:
        return ""
    return "cost unknown" if usage.total_cost is None else f"${usage.total_cost:.4f}"


def _columns(fields: Sequence[Field]) -> int:
    return sum(columns_of(safe(field.piece[0])) for field in fields) + len(SEPARATOR) * (len(fields) - 1)
