"""Draw the state: the rows around the input, its sign and frame, and the title of the window. Pure."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, assert_never

import msgspec
from msgspec.structs import replace

from robota.clients.terminal.width import columns_of, cut_columns
from robota.clients.tui.flows.entered_text import blocking_ask, is_shell_line
from robota.clients.tui.flows.status_output import status_rows
from robota.clients.tui.palettes import NO_COLOURS
from robota.clients.tui.state import (
    CardEdit,
    CardReply,
    ListDialog,
    PanelDialog,
    QuestionDialog,
    QueueDialog,
    ScreenState,
)
from robota.clients.tui.theme import Role, Theme, safe
from robota.clients.tui.widgets.live_rows import RETRIES, live_rows
from robota.clients.tui.widgets.status_bar import StatusFacts, status_row
from robota.protocol.asks.ask import CompletionAsk, QuestionAsk
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.views import DiffsView, DiffView
from robota.text.visible import single_line

if TYPE_CHECKING:
    from robota.clients.tui.flows.question_answers import OfferedAnswers
    from robota.clients.tui.widgets.approval_card import CardDrawing

MAX_INPUT_ROWS: Final = 10
SIGN_WIDTH: Final = 2
# A lower window has no room for the frame of the input, and shows one status row.
MIN_ROWS_WITH_FRAME: Final = 10
# With fewer free rows than this, a dialog is not shown and accepts no keys.
MIN_DIALOG_ROWS: Final = 2
# In a lower window, the plan is hidden while a question is open.
MIN_ROOM_FOR_PLAN: Final = 24
# For counting rows.
PLAIN_THEME: Final = Theme(NO_COLOURS)
PROMPT_SIGN: Final = "> "
SHELL_SIGN: Final = "! "
EDIT_SIGN: Final = "e "
REPLY_SIGN: Final = "w "
EDIT_HINT: Final = "Enter runs it as edited here, Ctrl+G opens it in $EDITOR, Esc goes back."
REPLY_HINT: Final = "Type y or n, then your message; other text is a no and its reason. Esc: back."


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """The live region: rows above the input and below it, and the sign before its text."""

    above: Sequence[str]
    below: Sequence[str]
    sign: str


def draw(state: ScreenState, theme: Theme, tail: Sequence[str]) -> Frame:
    """The live region; `tail` are the rows at the end of a streaming answer, which may still change."""
    below = _rows_below(state, theme)
    above = _rows_above(state, theme, tail, _room(state, below))
    if _has_frame(state):
        above.append(_top_edge(state, theme))
        below.insert(0, theme.paint("─" * state.window.columns, _edge_role(state)))
    return Frame(above=above, below=below, sign=theme.paint(_sign(state), Role.ACTIVE))


def input_columns(state: ScreenState) -> int:
    """The columns of a row of the input."""
    return max(1, state.window.columns - SIGN_WIDTH)


def max_input_rows(window_rows: int) -> int:
    """The rows of the input that are visible at the same time."""
    return max(1, min(MAX_INPUT_ROWS, window_rows // 2))


def room_for_dialog(state: ScreenState) -> int:
    """The rows that are left above the input."""
    return _room(state, _rows_below(state, PLAIN_THEME))


def dialog_takes_keys(state: ScreenState) -> bool:
    """Whether keys go to the dialog or card: not while the user is typing, nor right after it appeared."""
    approval, dialog = state.approval, state.dialog
    if approval is not None:
        has_draft = bool(state.draft.text)
        takes_keys = approval.input_use is None and approval.focus.takes_keys(state.now, has_draft=has_draft)
    elif isinstance(dialog, QuestionDialog):
        takes_keys = dialog.pause.is_over(state.now)
    else:
        takes_keys = dialog is not None
    return takes_keys and room_for_dialog(state) >= MIN_DIALOG_ROWS


def window_title(state: ScreenState) -> str:
    """The title of the window, with a sign while something is running or a question is open."""
    ask = blocking_ask(state.view)
    waits = ask is not None and not isinstance(ask.asked, CompletionAsk)
    sign = "? " if waits else "□ " if state.working_since is not None else ""
    name = _session_name(state)
    return f"{sign}Robota — {single_line(name)}" if name else f"{sign}Robota"


def what_enter_does(text: str) -> str:
    """What Enter does with the text of the input during the pause before a retry."""
    if text.strip().startswith("/"):
        return "Enter runs the command"
    return "Enter queues your message" if text.strip() else RETRIES


def _has_frame(state: ScreenState) -> bool:
    return state.window.rows >= MIN_ROWS_WITH_FRAME


def _room(state: ScreenState, below: Sequence[str]) -> int:
    """The rows between the top of the window and the input."""
    lines = state.draft.text.split("\n", MAX_INPUT_ROWS)[:MAX_INPUT_ROWS]
    text = sum(columns_of(line) // input_columns(state) + 1 for line in lines)
    frame = 2 if _has_frame(state) else 0
    return max(0, state.window.rows - len(below) - frame - min(text, max_input_rows(state.window.rows)))


def _rows_above(state: ScreenState, theme: Theme, tail: Sequence[str], room: int) -> list[str]:
    """Unfinished rows and the open dialog, which takes precedence if both do not fit."""
    asked = _dialog_rows(state, theme, room)
    left = room - len(asked)
    if left <= 0:
        return asked
    view = state.view
    if isinstance(state.dialog, QueueDialog):
        view = replace(view, queue=())  # it is shown once
    if room < MIN_ROOM_FOR_PLAN and blocking_ask(view) is not None:
        view = replace(view, todos=())  # the question is right above
    enter = what_enter_does(state.draft.text)
    live = live_rows(view, theme, state.window.columns, _seconds_until_retry(state), enter)
    moving = [] if state.colours.chosen.reduces_motion else tail
    return [*[*moving, *live][-left:], *asked]


def _seconds_until_retry(state: ScreenState) -> int | None:
    if state.view.retry is None or state.colours.chosen.reduces_motion:
        return None
    return max(0, round(state.retry_at - state.now))


def shown_answers(state: ScreenState) -> "OfferedAnswers | None":
    """The answers of the open question, if nothing else is open."""
    ask = blocking_ask(state.view)
    if ask is None or not isinstance(ask.asked, QuestionAsk) or state.approval is not None or state.dialog is not None:
        return None
    from robota.clients.tui.flows.question_answers import offered_answers

    return offered_answers(ask.asked, ask.message.ts, state.answers)


def _dialog_rows(state: ScreenState, theme: Theme, room: int) -> list[str]:
    if (answers := shown_answers(state)) is not None:
        from robota.clients.tui.widgets.answer_rows import answer_rows

        return answer_rows(answers, theme, state.window.columns, room)
    if room < MIN_DIALOG_ROWS or (state.dialog is None and state.approval is None):
        return []
    if state.approval is not None:
        from robota.clients.tui.widgets.approval_card import card_layout

        return card_layout(state.approval.card, theme, card_drawing(state, room)).rows
    from robota.clients.tui.widgets.lists import confirm_rows, picker_rows, queue_rows

    columns = state.window.columns
    match state.dialog:
        case ListDialog(picker=picker):
            return list(picker_rows(picker, theme, columns, room))
        case QuestionDialog(prompt=prompt):
            rows = confirm_rows(prompt, theme, columns, takes_keys=dialog_takes_keys(state))
            return list(rows)[-room:]
        case QueueDialog(entries):
            return list(queue_rows(entries, theme, columns, room))
        case PanelDialog(panel):
            from robota.clients.tui.widgets.panel_rows import panel_rows

            return list(panel_rows(panel, theme, columns, room))
        case None:
            return []
        case never:
            assert_never(never)


def card_drawing(state: ScreenState, room: int) -> "CardDrawing":
    """How the card is drawn now."""
    from robota.clients.tui.widgets.approval_card import CardDrawing

    approval = state.approval
    has_draft = approval is not None and approval.input_use is None and bool(state.draft.text)
    return CardDrawing(
        width=state.window.columns,
        room=room,
        takes_keys=dialog_takes_keys(state),
        has_draft=has_draft and approval is not None and approval.focus.pause.is_over(state.now),
        accepts_edits=_mode_would_accept(state),
        is_beside=approval is not None and state.view.is_asked_beside(approval.request.message.ts),
    )


def _mode_would_accept(state: ScreenState) -> bool:
    """Whether the next permission mode stops questions like the one on the card."""
    session, approval = state.view.session, state.approval
    if approval is None or session is None or session.permission_mode is not PermissionMode.DEFAULT:
        return False
    asked = approval.request.asked
    return isinstance(asked.view, DiffView | DiffsView) and not asked.verdict.rule and bool(asked.verdict.suggestions)


def _rows_below(state: ScreenState, theme: Theme) -> list[str]:
    """The popup, a hint and the status bar."""
    columns = state.window.columns
    rows = _popup_rows(state, theme)
    if hint := state.shown_hint or _input_use_hint(state):
        rows.append(theme.row([(hint, Role.WARNING)], columns))
    rows += _status_rows(state, theme)
    return rows[-max(1, state.window.rows - 2) :]


def _status_rows(state: ScreenState, theme: Theme) -> list[str]:
    """The status bar, and above it the output of the user's status command, unless a low window needs the room."""
    appearance, columns = state.colours.chosen, state.window.columns
    since = None if appearance.reduces_motion else state.working_since
    facts = StatusFacts(
        git_branch=state.git_branch if appearance.shows_git_branch else "",
        seconds=0 if since is None else int(state.now - since),
        silent_s=0 if since is None else int(state.now - max(since, state.last_news_at)),
        is_short=not appearance.has_status_line,
    )
    own = status_row(state.view, facts, theme, columns)
    if not appearance.has_status_line or not _has_frame(state):
        return [own]
    return [*status_rows(state.status_output, columns, has_colour=theme.has_colours), own]


def _popup_rows(state: ScreenState, theme: Theme) -> list[str]:
    popup = state.draft.popup
    if popup is None:
        return []
    from robota.clients.tui.widgets.lists import popup_rows

    return list(popup_rows(popup, theme, state.window.columns))


def _sign(state: ScreenState) -> str:
    """The sign before the input; shell commands have their own."""
    match None if state.approval is None else state.approval.input_use:
        case CardEdit():
            return EDIT_SIGN
        case CardReply():
            return REPLY_SIGN
        case None:
            return SHELL_SIGN if is_shell_line(state.draft.text) else PROMPT_SIGN
        case never:
            assert_never(never)


def _input_use_hint(state: ScreenState) -> str:
    match None if state.approval is None else state.approval.input_use:
        case CardEdit():
            return EDIT_HINT
        case CardReply():
            return REPLY_HINT
        case None:
            return ""
        case never:
            assert_never(never)


def _session_name(state: ScreenState) -> str:
    return "" if state.view.session is None else state.view.session.name or ""


def _edge_role(state: ScreenState) -> Role:
    """A warning while a requested stop is pending."""
    return Role.WARNING if state.is_stopping else Role.DIM


def _top_edge(state: ScreenState, theme: Theme) -> str:
    """The upper edge of the input, with the name of the session at its right."""
    columns, role = state.window.columns, _edge_role(state)
    name = cut_columns(safe(_session_name(state)), max(0, columns - 8))
    if not name:
        return theme.paint("─" * columns, role)
    left = columns - columns_of(name) - 5
    pieces = (("─" * left, role), (f" {name} ", Role.NAME), ("───", role))
    return "".join(theme.paint(text, piece_role) for text, piece_role in pieces)
