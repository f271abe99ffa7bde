"""The content of the live region: unfinished rows, open dialogs, the popup, the status bar; and the window title."""

import asyncio
import time
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from robota.clients.tui.flows.entered_text import blocking_ask, is_shell_line, is_working
from robota.clients.tui.flows.input_purpose import InputPurpose
from robota.clients.tui.theme import Role
from robota.clients.tui.widgets.dialog_drawing import LOWEST_DIALOG, DialogDrawing
from robota.clients.tui.widgets.live_rows import RETRIES, live_rows
from robota.clients.tui.widgets.status_bar import StatusFacts
from robota.protocol.asks.ask import CompletionAsk
from robota.text.visible import single_line

if TYPE_CHECKING:
    from robota.clients.tui.app import ScreenConversation

# How often streaming text is drawn. Keys are drawn at once.
DRAW_EVERY_S: Final = 0.04
SECOND: Final = 1.0
# In a lower window, the plan is hidden while a question is open.
ROOM_FOR_PLAN: Final = 12
SIGNS: Final = {InputPurpose.PROMPT: "> ", InputPurpose.EDIT: "e ", InputPurpose.WORDS: "w "}
SHELL_SIGN: Final = "! "
PURPOSE_HINTS: Final = {
    InputPurpose.EDIT: "Enter runs it as edited here, Ctrl+G opens it in $EDITOR, Esc goes back.",
    InputPurpose.WORDS: "Type y or n, then your message; any other text rejects it and is the reason. Esc goes back.",
}


class LivePicture:
    """Makes the rows of the live region and schedules its redraws."""

    def __init__(self, conversation: "ScreenConversation") -> None:
        self._conversation = conversation
        self._drawing: asyncio.TimerHandle | None = None
        self._working_since: float | None = None
        self._title = ""
        self.retry_at = 0.0
        self.branch = ""

    # Around the input.

    def edge_role(self) -> Role:
        """The role of the input's frame: a warning while a requested stop is pending."""
        return Role.WARNING if self._conversation.is_stopping else Role.DIM

    def new_rows(self) -> list[str]:
        """Rows that were finished since the last redraw."""
        return self._conversation.scrollback.take_rows()

    def rows_above(self, room: int) -> list[str]:
        """Unfinished rows and the open dialog, which takes precedence if both do not fit."""
        conversation = self._conversation
        asked = self._dialog_rows(room)
        left = room - len(asked)
        if left <= 0:
            return asked
        view = conversation.view
        if conversation.dialog is not None and conversation.dialog.lists_queue:
            view = replace(view, queue=())  # it is shown once
        if room < ROOM_FOR_PLAN and blocking_ask(view) is not None:
            view = replace(view, todos=())  # the question is right above
        enter = what_enter_does(conversation.input.text)
        live = live_rows(view, conversation.theme, conversation.width, self._until_retry(), enter)
        tail = [] if conversation.looks.reduces_motion else conversation.scrollback.tail()
        return [*[*tail, *live][-left:], *asked]

    def _until_retry(self) -> int | None:
        if self._conversation.view.retry is None or self._conversation.looks.reduces_motion:
            return None
        return max(0, round(self.retry_at - time.monotonic()))

    def _dialog_rows(self, room: int) -> list[str]:
        conversation = self._conversation
        if conversation.dialog is None or room < LOWEST_DIALOG:
            return []
        approval = conversation.approval
        takes_keys = conversation.keys.dialog_takes_keys()
        is_written = bool(conversation.input.text) and conversation.purpose is InputPurpose.PROMPT
        has_draft = is_written and (approval is None or approval.focus.pause.is_over(time.monotonic()))
        drawing = DialogDrawing(width=conversation.width, room=room, takes_keys=takes_keys, has_draft=has_draft)
        return conversation.dialog.rows(conversation.theme, drawing)

    def rows_below(self) -> list[str]:
        """The popup, a hint and the status bar."""
        conversation = self._conversation
        rows = self._popup_rows()
        since = None if conversation.looks.reduces_motion else self._working_since
        seconds = 0 if since is None else int(time.monotonic() - since)
        facts = StatusFacts(git_branch=self.branch, seconds=seconds)
        status = conversation.status.rows(conversation.view, facts, conversation.theme, conversation.width)
        # In a low window the dialog needs the room more than the custom status line.
        if hint := conversation.hint.shown(time.monotonic()) or PURPOSE_HINTS.get(conversation.purpose, ""):
            rows.append(conversation.theme.row([(hint, Role.WARNING)], conversation.width))
        return [*rows, *(status if conversation.region.has_edges else status[-1:])]

    def _popup_rows(self) -> list[str]:
        conversation = self._conversation
        popup = conversation.input.popup
        if popup is None:
            return []
        from robota.clients.tui.widgets.lists import popup_rows

        return list(popup_rows(popup, conversation.theme, conversation.width))

    def sign(self) -> str:
        """The sign before the input; shell commands have their own."""
        purpose = self._conversation.purpose
        if purpose is InputPurpose.PROMPT and is_shell_line(self._conversation.input.text):
            return SHELL_SIGN
        return SIGNS[purpose]

    def frame_title(self) -> str:
        """The name of the session."""
        session = self._conversation.view.session
        return (session.name or "") if session is not None else ""

    # Redraws.

    def draw_soon(self) -> None:
        """Schedule a redraw, shared with other changes of the same moment."""
        if self._drawing is None:
            self._drawing = asyncio.get_running_loop().call_later(DRAW_EVERY_S, self.draw)

    def draw(self) -> None:
        """Draw what has changed."""
        self._drawing = None
        self._set_title()
        self._conversation.region.print_above(self._conversation.scrollback.take_rows())

    def watch_work(self) -> None:
        """Start or stop the clock of the status bar, which runs while the agent works."""
        view = self._conversation.view
        if not is_working(view) or blocking_ask(view) is not None:
            self._working_since = None
        elif self._working_since is None:
            self._working_since = time.monotonic()
            if not self._conversation.looks.reduces_motion:
                asyncio.get_running_loop().call_later(SECOND, self._tick)

    def _tick(self) -> None:
        if self._working_since is not None:
            self._conversation.region.redraw()
            asyncio.get_running_loop().call_later(SECOND, self._tick)

    def _set_title(self) -> None:
        """Set the window title, with a sign while something is running or a question is open; only if it changed."""
        name = self.frame_title()
        ask = blocking_ask(self._conversation.view)
        waits = ask is not None and not isinstance(ask.asked, CompletionAsk)
        sign = "? " if waits else "□ " if self._working_since is not None else ""
        title = f"{sign}Robota — {single_line(name)}" if name else f"{sign}Robota"
        if title != self._title:
            self._title = title
            self._conversation.region.output.set_title(title)


def what_enter_does(text: str) -> str:
    """What Enter does with the text of the input during the pause before a retry."""
    if text.strip().startswith("/"):
        return "Enter runs the command"
    return "Enter queues your message" if text.strip() else RETRIES
