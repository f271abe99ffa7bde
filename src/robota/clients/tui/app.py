"""The terminal UI of one session: creates its parts and holds what they share."""

import asyncio
import signal
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import msgspec

from robota.clients.terminal.editor import NotEdited
from robota.clients.terminal.line import Line
from robota.clients.terminal.signals import signals_to
from robota.clients.tui.approvals.open_approvals import OpenApprovals
from robota.clients.tui.flows.entered_text import Written
from robota.clients.tui.flows.input_purpose import InputPurpose
from robota.clients.tui.keyboard import ConversationKeys
from robota.clients.tui.looks import Looks
from robota.clients.tui.picture import LivePicture
from robota.clients.tui.screen.input_area import InputArea
from robota.clients.tui.screen.keys import bindings_for
from robota.clients.tui.screen.live_region import LiveRegion
from robota.clients.tui.scrollback import Scrollback
from robota.clients.tui.sending import Sending
from robota.clients.tui.session_events import SessionEvents
from robota.clients.tui.setup import ScreenSetup
from robota.clients.tui.status_line import StatusRows
from robota.clients.tui.theme import Role
from robota.clients.view.model import ViewModel
from robota.protocol.appearance import Appearance
from robota.protocol.commands import Refused
from robota.protocol.port import SessionPort
from robota.protocol.slash_commands import CommandChoice, ContextShown, PreviewShown, RowsShown, SessionWanted
from robota.protocol.views import DiffView

if TYPE_CHECKING:
    from robota.clients.tui.approvals.card_keys import CardKeys
    from robota.clients.tui.approvals.pending_approval import PendingApproval
    from robota.clients.tui.choosing import Choosing
    from robota.clients.tui.command_runner import CommandRunner
    from robota.clients.tui.dialogs import OpenDialog
    from robota.clients.tui.draft_keeper import DraftKeeper
    from robota.clients.tui.flows.confirm_prompt import ConfirmPrompt
    from robota.clients.tui.screens import Screens

# A Ctrl+C that ended the editor may arrive as a signal after its end.
LATE_SIGNAL_S: Final = 0.05
HINT_S: Final = 5.0
DRAFT_KEPT: Final = "Your draft is kept: press Ctrl+R to find it."
DRAFT_BACK: Final = "What you were writing when Robota was killed is in the input again."
DRAFT_LEFT: Final = "What you had not sent is kept: press Up after the next start."
NO_TASK_YET: Final = "There is no task yet. Enter a prompt first."


async def converse_on_screen(session: SessionPort, prompt: str | None, setup: ScreenSetup) -> int | SessionWanted:
    """Run the UI until the user leaves; returns the exit code, or the session to open next."""
    conversation = ScreenConversation(session, setup)
    with signals_to(conversation.signalled):
        return await conversation.run(prompt)


class Hint(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence for the user, and until when it is shown. An offer that it makes is valid as long."""

    text: str = ""
    until: float = 0.0

    def shown(self, now: float) -> str:
        """The sentence; empty when its time is over."""
        return self.text if now < self.until else ""


class ScreenConversation:
    """The terminal UI of one session."""

    def __init__(self, session: SessionPort, setup: ScreenSetup) -> None:
        self.session = session
        self.setup = setup
        self.theme = setup.theme
        self.view = ViewModel()
        self.dialog: OpenDialog | None = None
        self.is_stopping = False
        self.hint = Hint()
        self.approvals = OpenApprovals(self)
        self.keys = ConversationKeys(self)
        self.picture = LivePicture(self)
        bindings = bindings_for(self.keys)
        if setup.has_vi_keys:
            from robota.clients.tui.screen.vi_keys import bind_vi_keys

            bind_vi_keys(bindings, self.keys)
        self.region = LiveRegion(
            self.picture,
            bindings,
            setup.theme,
            has_vi_keys=setup.has_vi_keys,
            start_guard=setup.start_guard,
        )
        self.input = InputArea(self.region.input, setup.prompts, self.keys.typed)
        self.region.input.on_text_changed += lambda _: self._draft_changed()
        self._drafts: DraftKeeper | None = None
        self.scrollback = Scrollback(setup.theme, lambda: self.width, lambda: self.view, setup.file_address)
        self.status = StatusRows(setup.status, self.picture.draw_soon)
        self.sending = Sending(self)
        self.looks = Looks(self)
        self.draw_soon = self.picture.draw_soon
        self._events = SessionEvents(self)
        self._jobs: set[asyncio.Task[Any]] = set()
        self._ended: int | SessionWanted = 0
        self._failed: BaseException | None = None
        self._is_editing = False

    # Parts that the first screen does not need are imported with their first use.

    @cached_property
    def commands(self) -> "CommandRunner":
        """Runs slash commands."""
        from robota.clients.tui.command_runner import CommandRunner

        return CommandRunner(self.session, self)

    @cached_property
    def screens(self) -> "Screens":
        """Opens full screens: transcript, diff viewer, lists."""
        from robota.clients.tui.screens import Screens

        return Screens(self.region, self.theme, self.commands)

    @cached_property
    def choosing(self) -> "Choosing":
        """Shows lists and questions to choose from."""
        from robota.clients.tui.choosing import Choosing

        return Choosing(self)

    @cached_property
    def cards(self) -> "CardKeys":
        """Handles keys on approval cards."""
        from robota.clients.tui.approvals.card_keys import CardKeys

        return CardKeys(self)

    # Start and end.

    async def run(self, prompt: str | None) -> int | SessionWanted:
        """Draw and read keys until the user leaves."""
        try:
            await self.region.run(lambda: self._begin(prompt))
        except EOFError:
            self._ended = 128 + signal.SIGHUP  # the terminal has gone
        self.status.close()
        self._keep_draft()
        for job in list(self._jobs):
            job.cancel()
        self.region.output.set_title("")
        self.region.print_rest([*self.scrollback.take_rows(), *self.scrollback.tail()])
        if self._failed is not None:
            raise self._failed
        return self._ended

    def _keep_draft(self) -> None:
        """Put what was not sent into the history, for the next start."""
        if (text := self._draft()).strip():
            self.setup.on_prompt(text)
            self.tell(DRAFT_LEFT)
        if self._drafts is not None:
            self._drafts.close()

    def _draft_changed(self) -> None:
        if self._drafts is None and self.setup.open_drafts is not None:
            from robota.clients.tui.draft_keeper import DraftKeeper

            self._drafts = DraftKeeper(self._draft, self.setup.open_drafts(), self.setup.left_draft)
        if self._drafts is not None:
            self._drafts.changed()

    def _draft(self) -> str:
        return self.input.expanded() if self.purpose is InputPurpose.PROMPT else self.approval_draft

    def _begin(self, prompt: str | None) -> None:
        self.scrollback.block(self.setup.greeting)
        self.region.print_above(self.scrollback.take_rows())
        self.looks.begin()
        if self.setup.left_draft:
            self.input.put_back(Written(text=self.setup.left_draft))
            self.tell(DRAFT_BACK)
        self.start(self._events.follow(prompt))

    def signalled(self, number: signal.Signals) -> None:
        """Exit on a signal. Ctrl+C is a key here; as a signal, it is for a running editor."""
        if number is not signal.SIGINT or not self._is_editing:
            self.leave(128 + number)

    def leave(self, end: int | SessionWanted) -> None:
        """End the conversation; the session is unchanged."""
        self._ended = end
        self.region.leave()

    def start(self, job: Coroutine[Any, Any, Any]) -> None:
        """Run a job in the background."""
        task = asyncio.get_running_loop().create_task(job)
        self._jobs.add(task)
        task.add_done_callback(self._job_ended)

    def _job_ended(self, task: asyncio.Task[Any]) -> None:
        """End the UI if a job has failed, so that the user does not wait forever."""
        self._jobs.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._failed = error
            self.region.leave()

    # State that the parts share.

    @property
    def width(self) -> int:
        """The width of the terminal in columns."""
        return self.region.width

    @property
    def approval(self) -> "PendingApproval | None":
        """The approval that is shown now."""
        return self.approvals.shown

    @property
    def approval_draft(self) -> str:
        """The prompt that was being written when the card took the input."""
        return "" if self.approval is None else self.approval.draft

    @property
    def purpose(self) -> InputPurpose:
        """What the input is used for now."""
        return InputPurpose.PROMPT if self.approval is None else self.approval.purpose

    async def edited(self, text: str) -> str | None:
        """Open the text in the user's editor; None if it was not edited."""
        async with self.region.lent():
            self._is_editing = True
            changed = await self.setup.edit(text)
        asyncio.get_running_loop().call_later(LATE_SIGNAL_S, self._editing_ended)
        if isinstance(changed, NotEdited):
            self.tell(f"! {changed.why}", Role.ERROR)
            return None
        return changed

    def _editing_ended(self) -> None:
        self._is_editing = False

    # Output.

    def show_entered(self, line: str) -> None:
        """Print a slash command, or an answer to an MCP server, as it was entered."""
        self.scrollback.show_prompt(line)

    def show_lines(self, lines: Iterable[Line]) -> None:
        """Print lines that clients share."""
        self.scrollback.block(map(self.theme.line, lines))
        self.draw_soon()

    def tell(self, text: str, role: Role = Role.DIM) -> None:
        """Print a sentence."""
        self.scrollback.tell(text, role)
        self.draw_soon()

    def show_hint(self, text: str) -> None:
        """Show a hint below the input for a while; an empty one removes it."""
        self.hint = Hint(text=text, until=time.monotonic() + HINT_S)
        if text:
            asyncio.get_running_loop().call_later(HINT_S, self.region.redraw)

    def put_instead(self, text: str) -> None:
        """Put a text into the input instead of what is there; that is kept in the history."""
        if self.input.put_instead(text):
            self.show_hint(DRAFT_KEPT)

    def show_refusal(self, refusal: Refused) -> None:
        """Print why a command was refused."""
        self.tell(f"! {NO_TASK_YET if refusal.code == 'no_active_task' else refusal.message}", Role.ERROR)

    def show_diff(self, files: Sequence[DiffView]) -> None:
        """Open the diff viewer."""
        self.start(self.screens.read_diff(files))

    def show_conversation(self, shown: ContextShown | PreviewShown | RowsShown) -> None:
        """Print the context, a condensation preview or rows, as a command returned them."""
        from robota.clients.render.command_text import conversation_lines
        from robota.clients.tui.widgets.context_bars import context_rows

        if isinstance(shown, ContextShown):
            self.scrollback.block(context_rows(shown.update, self.theme, self.width, is_whole=shown.is_whole))
            self.draw_soon()
        else:
            self.show_lines(conversation_lines(shown, self.width))

    def copy(self, text: str, what: str) -> None:
        """Copy a text to the clipboard."""
        self.region.output.copy(text)
        self.tell(f"Copied {what} ({len(text):,} characters), if your terminal allows programs to copy.")

    def appear(self, appearance: Appearance) -> None:
        """Apply another appearance."""
        self.looks.choose(appearance)

    # Commands and choices.

    def run_line(self, line: str) -> None:
        """Run a slash command."""
        self.start(self.commands.run(line))

    def offer(self, choice: CommandChoice, opened_by: tuple[str, ...]) -> None:
        """Let the user choose from the options that a command returned."""
        self.choosing.offer(choice, opened_by)

    def open_question(self, prompt: "ConfirmPrompt", then: Callable[[], None]) -> None:
        """Ask yes or no; `then` is called after a yes."""
        self.choosing.open_question(prompt, then)
