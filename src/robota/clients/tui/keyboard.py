"""Run the actions of keys in a conversation, as determined by the flows."""

import asyncio
import time
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

from robota.clients.tui.attached_files import AttachedImage, NotAttached, put_paste
from robota.clients.tui.flows.completion_popup import PopupEnter
from robota.clients.tui.flows.confirm_prompt import ConfirmPrompt, is_no_answer
from robota.clients.tui.flows.entered_text import is_working
from robota.clients.tui.flows.input_purpose import InputPurpose
from robota.clients.tui.flows.stopping import Situation, Stopping, on_end_of_input, on_escape, on_interrupt
from robota.clients.tui.flows.typing_pause import QUIET_S, QUIET_WITH_DRAFT_S, TypingPause
from robota.clients.tui.widgets.dialog_drawing import LOWEST_DIALOG
from robota.protocol.commands import (
    CancelTask,
    ListRewindPoints,
    RetryNow,
    SetPermissionMode,
)
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.slash_commands import CommandChoice, CommandOption
from robota.text.visible import single_line

if TYPE_CHECKING:
    from robota.clients.tui.app import ScreenConversation
    from robota.clients.tui.approvals.pending_approval import PendingApproval
    from robota.clients.tui.queue_keys import QueueKeys

AWAY_S: Final = 10.0
PROMPT_SHOWN: Final = 200
MODES: Final = (
    PermissionMode.DEFAULT,
    PermissionMode.ACCEPT_EDITS,
    PermissionMode.PLAN,
    PermissionMode.BYPASS,
)
BYPASS_QUESTION: Final = "Run everything without asking (bypassPermissions)?"
HINTS: Final = {
    Stopping.OFFER_LEAVING: "Press Ctrl+C again to exit.",
    Stopping.OFFER_REWIND: "Press Esc again to rewind to an earlier prompt.",
    Stopping.OFFER_CLEARING: "Press Esc again to clear the input; it stays in the history.",
}
CLEARED: Final = "Cleared. Press Up to bring it back."
CLEARED_WITH_QUEUE: Final = "Cleared. Press Ctrl+R to bring it back."


class ConversationKeys:
    """The keyboard of one conversation."""

    def __init__(self, conversation: "ScreenConversation") -> None:
        self._conversation = conversation
        self._offered = Stopping.NOTHING
        self._last_key = time.monotonic()

    @cached_property
    def queue(self) -> "QueueKeys":
        """The key actions for the queue; imported when there is one."""
        from robota.clients.tui.queue_keys import QueueKeys

        return QueueKeys(self._conversation)

    # Dialogs.

    def dialog_takes_keys(self) -> bool:
        """Whether keys go to the dialog: not while the user is typing, nor right after it appeared."""
        conversation, approval = self._conversation, self._conversation.approval
        if conversation.dialog is None or conversation.region.room < LOWEST_DIALOG:
            return False
        if approval is None:
            dialog = conversation.dialog
            return not dialog.is_question or dialog.pause.is_over(time.monotonic())
        is_free = approval.purpose is InputPurpose.PROMPT
        return is_free and approval.focus.takes_keys(time.monotonic(), has_draft=bool(conversation.input.text))

    def press_in_dialog(self, key: str) -> None:
        """Pass a key to the dialog."""
        self._pressed()
        dialog = self._conversation.dialog
        if dialog is None:
            return
        approval = self._conversation.approval
        if approval is not None and key == "tab":
            self._leave_card(approval)
        elif approval is not None and dialog.leaves_to_input(key):
            self._leave_card(approval)
            self._conversation.input.insert(" " if key == "space" else key)
        elif dialog.is_question and is_no_answer(key):
            self._conversation.dialog = None  # typing closes it
            dialog.press("escape")
            self._conversation.input.insert(" " if key == "space" else key)
        elif not dialog.press(key) and self._conversation.dialog is dialog:
            self._conversation.dialog = None

    def _leave_card(self, approval: "PendingApproval") -> None:
        """Move the focus to the input; after a pause the card says how to return."""
        approval.focus = approval.focus.left(time.monotonic(), is_writing=True)
        self.wake_after_pause()

    def wake_after_pause(self) -> None:
        """Redraw when the card starts to accept keys."""
        for quiet_s in (QUIET_S, QUIET_WITH_DRAFT_S):
            asyncio.get_running_loop().call_later(quiet_s + 0.01, self._conversation.region.redraw)

    def call_person(self, words: str) -> None:
        """Notify a user who looks elsewhere; if the terminal does not report focus, after some time without a key."""
        looks = self._conversation.region.reports.is_focused
        if looks is False or (looks is None and time.monotonic() - self._last_key > AWAY_S):
            self._conversation.region.output.call_person(words)

    # The input.

    def typed(self) -> None:
        """Something was typed into the input."""
        self._pressed()
        if self._conversation.input.wants_completion:
            self._conversation.start(self._conversation.sending.complete())
        dialog, approval = self._conversation.dialog, self._conversation.approval
        if dialog is not None and dialog.is_question:
            dialog.pause = TypingPause(since=time.monotonic())
            self.wake_after_pause()
        if approval is not None and approval.purpose is InputPurpose.PROMPT:
            approval.focus = approval.focus.typed(time.monotonic())
            self.wake_after_pause()

    def enter(self, *, is_steering: bool = False) -> None:
        """Send the input; a backslash at its end inserts a newline instead."""
        conversation, area = self._conversation, self._conversation.input
        self._pressed()
        if area.popup is not None:
            does = area.popup.on_enter()
            if does is not PopupEnter.SEND:
                area.take_candidate()
            if does is PopupEnter.TAKE:
                return
        if area.text.endswith("\\"):
            area.put(f"{area.text[:-1]}\n")
            return
        approval = conversation.approval
        if approval is not None and approval.purpose is not InputPurpose.PROMPT:
            conversation.cards.enter(approval)
            return
        written = area.take()
        if written.is_empty and conversation.view.retry is not None:
            conversation.start(conversation.sending.submit(RetryNow()))
            return
        if written.text.strip():
            conversation.setup.on_prompt(written.text)
        conversation.start(conversation.sending.enter(written, is_steering=is_steering))

    def steer(self) -> None:
        """Send the input, or the queue, with the next request of the running turn."""
        if self._conversation.input.text:
            self.enter(is_steering=True)
        else:
            self._pressed()
            self._conversation.start(self.queue.send_all_now())

    def tab(self) -> None:
        """Move the focus to the open question, even with text in the input; a Tab right after typing is ignored."""
        approval = self._conversation.approval
        if approval is not None and approval.focus.pause.is_over(time.monotonic()):
            approval.focus = approval.focus.turned_to()

    def older(self) -> None:
        """Go up a row, or from the first row to the previous prompt; if the input is empty, open the queue first."""
        conversation = self._conversation
        self._pressed()
        if conversation.view.queue and not conversation.input.text:
            self.queue.open()
        elif not conversation.input.move_by_row(-1, conversation.region.input_columns):
            conversation.input.older()

    def has_queue(self) -> bool:
        """Whether there are queued messages and the input is empty."""
        return bool(self._conversation.view.queue) and not self._conversation.input.text

    def remove_queued(self) -> None:
        """Remove the newest message from the queue."""
        self._pressed()
        self.queue.remove_newest()

    def is_behind_label(self) -> bool:
        """Whether the cursor is right after the label of a paste or an image."""
        return self._conversation.input.is_behind_label

    def erase_label(self) -> None:
        """Delete the whole label."""
        self._pressed()
        self._conversation.input.erase_label()

    def is_behind_file(self) -> bool:
        """Whether a file was just completed."""
        return self._conversation.input.is_behind_file

    def begin_range(self) -> None:
        """Start a line range for that file."""
        self._pressed()
        self._conversation.input.begin_range()

    def newer(self) -> None:
        """Go down a row, or from the last row to the next prompt."""
        self._pressed()
        if not self._conversation.input.move_by_row(1, self._conversation.region.input_columns):
            self._conversation.input.newer()

    def paste(self, text: str) -> None:
        """Insert a paste."""
        problem = put_paste(self._conversation.input, text, self._conversation.setup.look_at_file)
        self._hint(problem)

    def paste_from_clipboard(self) -> None:
        """Insert the image in the clipboard."""
        self._conversation.start(self._paste_image())

    async def _paste_image(self) -> None:
        match await self._conversation.setup.read_clipboard():
            case AttachedImage(data_url):
                self._conversation.input.paste_image(data_url)
            case NotAttached(why):
                self._hint(why)
        self._conversation.region.redraw()

    def has_popup(self) -> bool:
        """Whether completions are shown."""
        return self._conversation.input.popup is not None

    def move_in_popup(self, by: int) -> None:
        """Select another completion."""
        self._conversation.input.move_in_popup(by)

    def take_candidate(self) -> None:
        """Insert the selected completion."""
        self._conversation.input.take_candidate()

    def search_history(self) -> None:
        """Choose from the history of prompts."""
        prompts = self._conversation.input.history.matching("")
        options = tuple(CommandOption(label=single_line(each, PROMPT_SHOWN), line=each) for each in prompts)
        if options:
            choice = CommandChoice(title="Previous prompts", options=options)
            self._conversation.choosing.open_list(choice, self._take_prompt)
        else:
            self._hint("There are no previous prompts yet.")

    def _take_prompt(self, option: CommandOption | None) -> None:
        if option is not None:
            self._conversation.put_instead(option.line)

    def edit_in_editor(self) -> None:
        """Edit the input in the user's editor."""
        self._conversation.start(self._write_in_editor())

    async def _write_in_editor(self) -> None:
        changed = await self._conversation.edited(self._conversation.input.expanded())
        if changed is not None:
            self._conversation.input.put(changed.rstrip("\n"))
            self._conversation.draw_soon()

    # Everything else.

    def can_stop(self) -> bool:
        """Whether Esc would stop something that is running or waiting for an answer."""
        return is_working(self._conversation.view)

    def escape(self) -> None:
        """Close, stop or go back."""
        approval = self._conversation.approval
        if approval is not None and approval.purpose is not InputPurpose.PROMPT:
            self._conversation.cards.go_back(approval)
        else:
            self._do(on_escape(self._situation()))

    def interrupt(self) -> None:
        """Clear, stop or leave."""
        stopping = on_interrupt(self._situation())
        self._do(stopping)
        if stopping is Stopping.STOP_TURN:
            self._offer(Stopping.OFFER_LEAVING)

    def end_of_input(self) -> None:
        """Leave."""
        self._do(on_end_of_input(self._situation()))

    def _situation(self) -> Situation:
        conversation = self._conversation
        return Situation(
            has_popup=conversation.input.popup is not None,
            has_dialog=conversation.dialog is not None and conversation.approval is None,
            has_text=bool(conversation.input.text),
            is_working=is_working(conversation.view),
            has_vi_keys=conversation.setup.has_vi_keys,
            offered=self._offered if conversation.hint.shown(time.monotonic()) else Stopping.NOTHING,
        )

    def _do(self, stopping: Stopping) -> None:
        conversation = self._conversation
        self._pressed()
        match stopping:
            case Stopping.CLOSE_POPUP:
                conversation.input.close_popup()
            case Stopping.CLOSE_DIALOG:
                self.press_in_dialog("escape")
            case Stopping.STOP_TURN:
                self.stop_turn()
            case Stopping.CLEAR_INPUT:
                self._clear_input()
            case Stopping.REWIND:
                conversation.start(conversation.sending.submit(ListRewindPoints()))
            case Stopping.LEAVE:
                conversation.leave(0)
            case Stopping.OFFER_LEAVING | Stopping.OFFER_REWIND | Stopping.OFFER_CLEARING:
                self._offer(stopping)
            case Stopping.NOTHING:
                return

    def _offer(self, stopping: Stopping) -> None:
        self._offered = stopping
        self._hint(HINTS[stopping])

    def _clear_input(self) -> None:
        """Clear the input; its text stays in the history."""
        conversation = self._conversation
        conversation.setup.on_prompt(conversation.input.clear())
        self._hint(CLEARED_WITH_QUEUE if conversation.view.queue else CLEARED)

    def stop_turn(self) -> None:
        """Ask the session to stop; until it has, the frame of the input shows that."""
        self._conversation.start(self._stop())

    async def _stop(self) -> None:
        self._conversation.is_stopping = True
        self._conversation.is_stopping = await self._conversation.sending.submit(CancelTask()) and is_working(
            self._conversation.view
        )
        self._conversation.draw_soon()

    def next_permission_mode(self) -> None:
        """Switch to the next permission mode; bypassing approvals needs a confirmation."""
        session = self._conversation.view.session
        if session is None:
            return
        mode = MODES[(MODES.index(session.permission_mode) + 1) % len(MODES)]
        if mode is PermissionMode.BYPASS:
            question = ConfirmPrompt(question=BYPASS_QUESTION, no="no, return to default mode")
            # Declining continues the cycle with the default mode, so that the key does not get stuck here.
            back = partial(self._set_mode, PermissionMode.DEFAULT)
            self._conversation.choosing.open_question(question, partial(self._set_mode, mode), back)
        else:
            self._set_mode(mode)

    def _set_mode(self, mode: PermissionMode) -> None:
        self._conversation.start(self._conversation.sending.submit(SetPermissionMode(permission_mode=mode)))

    def show_transcript(self) -> None:
        """Show the complete conversation in full screen."""
        self._conversation.start(self._read())

    async def _read(self) -> None:
        rows = self._conversation.scrollback.full_rows()
        await self._conversation.screens.read(rows or ["The conversation is empty."])

    def show_keys(self) -> None:
        """Print every key."""
        from robota.clients.render.view_lines import whole_view
        from robota.clients.tui.key_help import KEY_HELP
        from robota.protocol.views import TableView

        table = TableView(columns=("key", "does"), rows=KEY_HELP)
        self._conversation.show_lines(whole_view(table, width=self._conversation.width))

    def suspend(self) -> None:
        """Leave the terminal to the shell."""
        self._conversation.region.suspend()

    def _hint(self, text: str) -> None:
        self._conversation.show_hint(text)

    def _pressed(self) -> None:
        """Any key withdraws the offer of the previous key."""
        self._last_key = time.monotonic()
        self._offered = Stopping.NOTHING
        self._hint("")
