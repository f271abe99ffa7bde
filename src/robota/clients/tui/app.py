"""The conversation in the terminal UI: the session's events come in and are drawn, what is entered goes out."""

import asyncio
import signal
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, Final

import msgspec

from robota.clients.answering.talk import words_for
from robota.clients.render.rewind_lines import result_lines
from robota.clients.terminal.editor import EditText, NotEdited
from robota.clients.terminal.line import Line
from robota.clients.terminal.signals import signals_to
from robota.clients.tui.attached_files import LookAtFile, ReadClipboard, no_clipboard, nothing_dropped
from robota.clients.tui.command_runner import CommandRunner
from robota.clients.tui.dialogs import LOWEST_DIALOG, DialogDrawing, OpenDialog
from robota.clients.tui.flows.confirm_prompt import ConfirmPrompt
from robota.clients.tui.flows.entered_text import (
    TypeAgain,
    Words,
    Written,
    blocking_ask,
    is_working,
    meaning_of_entry,
    words_for_session,
)
from robota.clients.tui.flows.list_picker import picker_for
from robota.clients.tui.flows.prompt_history import prompts_in
from robota.clients.tui.flows.rewind_choice import rewind_choice
from robota.clients.tui.keyboard import ConversationKeys
from robota.clients.tui.open_approvals import OpenApprovals
from robota.clients.tui.pending_approval import InputPurpose, PendingApproval
from robota.clients.tui.screen.input_area import InputArea
from robota.clients.tui.screen.keys import bindings_for
from robota.clients.tui.screen.live_region import LiveRegion
from robota.clients.tui.screens import Screens
from robota.clients.tui.scrollback import Scrollback
from robota.clients.tui.status_line import StatusRows, StatusSetup
from robota.clients.tui.theme import Background, Palette, Role, Theme
from robota.clients.tui.widgets.lists import popup_rows
from robota.clients.tui.widgets.live_rows import live_rows
from robota.clients.tui.widgets.status_bar import StatusFacts
from robota.clients.view.model import OpenAsk, ViewModel
from robota.clients.view.reduce import reduce, windowed
from robota.protocol.appearance import Appearance
from robota.protocol.asks.answer import Answer, ApproveEdited, ApproveHunks
from robota.protocol.asks.ask import ApprovalAsk, CompletionAsk, QuestionAsk, ResumeAsk
from robota.protocol.commands import (
    Accepted,
    AskResponse,
    Command,
    CompletePrompt,
    NewTask,
    QueueMessage,
    Refused,
    RunSlashCommand,
)
from robota.protocol.events import (
    Event,
    MessageCreated,
    RetryScheduled,
    RewindPoints,
    Rewound,
    State,
    TaskAborted,
    TaskAskResponded,
)
from robota.protocol.port import SessionPort
from robota.protocol.rewind import PromptPoint
from robota.protocol.slash_commands import CommandChoice, CommandOption, SessionWanted
from robota.protocol.views import DiffView
from robota.text.visible import single_line

# How often what streams is drawn. Keys are drawn at once.
DRAW_EVERY_S: Final = 0.04
SECOND: Final = 1.0
LOOK_AGAIN_S: Final = 0.2
# The Ctrl+C that ended an editor may be heard of after its end.
SIGNALS_ARE_LATE_S: Final = 0.05
# Rows that are printed belong to the terminal; these few are kept for what still changes.
PAGES_KEPT: Final = 2
ASK_BEHIND: Final = "? Robota asks you something: Esc leads back to it."
# In a lower window a list stands above the input, without a look at what is chosen.
LOWEST_WITH_PREVIEW: Final = 12
NO_TASK_YET: Final = "There is no task yet: say what to do first."
SIGNS: Final = {InputPurpose.PROMPT: "> ", InputPurpose.EDIT: "e ", InputPurpose.WORDS: "w "}


class ScreenSetup(msgspec.Struct, frozen=True, kw_only=True):
    """What the UI is given of the machine: looks, an editor, the branch, and the prompts of earlier runs."""

    theme: Theme
    edit: EditText
    git_branch: Callable[[], str]
    prompts: Sequence[str] = ()
    on_prompt: Callable[[str], None] = lambda prompt: None
    greeting: Sequence[str] = ()
    has_vi_keys: bool = False
    # The colours for a background, if the terminal shall be asked for it; those for what a person chooses.
    on_background: Callable[[Background], Palette] | None = None
    on_appearance: Callable[[Appearance], Palette] | None = None
    status: StatusSetup = StatusSetup()
    look_at_file: LookAtFile = nothing_dropped
    read_clipboard: ReadClipboard = no_clipboard


async def converse_on_screen(session: SessionPort, prompt: str | None, setup: ScreenSetup) -> int | SessionWanted:
    """Talk until the person leaves; returns the exit code, or where they want to go on."""
    conversation = ScreenConversation(session, setup)
    with signals_to(conversation.signalled):
        return await conversation.run(prompt)


class ScreenConversation:
    """One person, one session, one terminal."""

    def __init__(self, session: SessionPort, setup: ScreenSetup) -> None:
        self.session = session
        self.setup = setup
        self.theme = setup.theme
        self.view = ViewModel()
        self.dialog: OpenDialog | None = None
        self._approvals = OpenApprovals(self)
        self.is_stopping = False
        self.hint = ""
        self._keys = ConversationKeys(self)
        self.region = LiveRegion(self, bindings_for(self._keys), setup.theme, has_vi_keys=setup.has_vi_keys)
        self.input = InputArea(self.region.input, setup.prompts, self._keys.typed)
        self.scrollback = Scrollback(setup.theme, lambda: self.width, lambda: self.view)
        self._commands = CommandRunner(session, self)
        self._status = StatusRows(setup.status, self.draw_soon)
        self.screens = Screens(self.region, setup.theme, self._commands)
        self._jobs: set[asyncio.Task[Any]] = set()
        self._drawing: asyncio.TimerHandle | None = None
        self._working_since: float | None = None
        self._ended: int | SessionWanted = 0
        self._failed: BaseException | None = None
        self._branch = ""
        self._retry_at = 0.0
        self._title = ""
        self._is_editing = False

    async def run(self, prompt: str | None) -> int | SessionWanted:
        """Draw and read keys until somebody leaves."""
        try:
            await self.region.run(lambda: self._begin(prompt))
        except EOFError:
            self._ended = 128 + signal.SIGHUP  # the terminal has gone
        self._status.close()
        for job in list(self._jobs):
            job.cancel()
        self.region.output.set_title("")
        self.region.print_rest([*self.scrollback.given(), *self.scrollback.tail()])
        if self._failed is not None:
            raise self._failed
        return self._ended

    @property
    def width(self) -> int:
        """The columns of the terminal."""
        return self.region.width

    def signalled(self, number: signal.Signals) -> None:
        """A signal from outside. Ctrl+C is a key here; where it is a signal, it was meant for the person's editor."""
        if number is not signal.SIGINT or not self._is_editing:
            self.leave(128 + number)

    def leave(self, end: int | SessionWanted) -> None:
        """End the conversation; the session stays as it is."""
        self._ended = end
        self.region.leave()

    # What is drawn.

    def edge_role(self) -> Role:
        """How the edges of the input look: a stop that was asked for and has not happened yet shows."""
        return Role.WARNING if self.is_stopping else Role.DIM

    def new_rows(self) -> list[str]:
        """What is finished since the last picture."""
        return self.scrollback.given()

    def rows_above(self, room: int) -> list[str]:
        """What is not finished, and what is asked: that first, if there is no room for all."""
        asked = self._dialog_rows(room)
        left = room - len(asked)
        if left <= 0:
            return asked
        rows = [*self.scrollback.tail(), *live_rows(self.view, self.theme, self.width, self._until_retry())]
        return [*rows[-left:], *asked]

    def _until_retry(self) -> int | None:
        return None if self.view.retry is None else max(0, round(self._retry_at - time.monotonic()))

    def _dialog_rows(self, room: int) -> list[str]:
        if self.dialog is None or room < LOWEST_DIALOG:
            return []
        takes_keys = self._keys.dialog_takes_keys()
        is_written = bool(self.input.text) and not takes_keys and self.purpose is InputPurpose.PROMPT
        has_draft = is_written and (self.approval is None or self.approval.pause.is_over(time.monotonic()))
        drawing = DialogDrawing(width=self.width, room=room, takes_keys=takes_keys, has_draft=has_draft)
        return self.dialog.rows(self.theme, drawing)

    def rows_below(self) -> list[str]:
        """The popup and the status bar."""
        popup = self.input.popup
        rows = [] if popup is None else list(popup_rows(popup, self.theme, self.width))
        seconds = 0 if self._working_since is None else int(time.monotonic() - self._working_since)
        facts = StatusFacts(git_branch=self._branch, seconds=seconds, hint=self.hint)
        return [*rows, *self._status.rows(self.view, facts, self.theme, self.width)]

    def sign(self) -> str:
        """What stands before the input."""
        return SIGNS[self.purpose]

    def frame_title(self) -> str:
        """The name of the session."""
        return (self.view.session.name or "") if self.view.session is not None else ""

    @property
    def purpose(self) -> InputPurpose:
        """What the input is for."""
        return InputPurpose.PROMPT if self.approval is None else self.approval.purpose

    def draw_soon(self) -> None:
        """Draw what has changed, with everything else that changes in the same moment."""
        if self._drawing is None:
            self._drawing = asyncio.get_running_loop().call_later(DRAW_EVERY_S, self._draw)

    def _draw(self) -> None:
        self._drawing = None
        self._set_title()
        self.region.print_above(self.scrollback.given())

    def show_lines(self, lines: Iterable[Line]) -> None:
        """Print lines that clients share."""
        self.scrollback.block(map(self.theme.line, lines))
        self.draw_soon()

    def tell(self, text: str, role: Role = Role.DIM) -> None:
        """Print a sentence."""
        self.scrollback.tell(text, role)
        self.draw_soon()

    def tell_refusal(self, refusal: Refused) -> None:
        """Print why nothing was done."""
        self.tell(f"! {NO_TASK_YET if refusal.code == 'no_active_task' else refusal.message}", Role.ERROR)

    # What the session does.

    def _begin(self, prompt: str | None) -> None:
        self.scrollback.block(self.setup.greeting)
        self.region.print_above(self.scrollback.given())
        if self.setup.on_background is not None:
            self.region.ask_background(self._background_told)
        self.start(self._follow(prompt))

    def _background_told(self, background: Background) -> None:
        if self.setup.on_background is not None:
            self.theme.palette = self.setup.on_background(background)
            self.draw_soon()

    async def _follow(self, prompt: str | None) -> None:
        events = self.session.events()
        self.view = reduce(self.view, await anext(events))
        self._branch = self.setup.git_branch()
        if len(self.view.rows):
            self.input.remember(prompts_in(self.view.rows))
            self.scrollback.resume(self.view.session.current_task_id if self.view.session is not None else None)
            older = self.view.session.older_rows if self.view.session is not None else 0
            self.scrollback.show_past(tuple(self.view.rows), older)
        ask = blocking_ask(self.view)
        if prompt is not None:
            written = Written(text=prompt)
            self.start(self.send(words_for_session(written, self.view), written))
        elif ask is not None:
            self._put(ask)
        self._status.look(self.view)
        self._draw()
        async for event in events:
            self._take(event)
        self.leave(0)

    def _take(self, event: Event) -> None:
        self.view = windowed(reduce(self.view, event), PAGES_KEPT)
        self.scrollback.take(event)
        match event:
            case MessageCreated(message=message) if message.ask and (ask := blocking_ask(self.view)) is not None:
                self._put(ask)
            case TaskAskResponded(ts=ts):
                self._approvals.answered(ts)
            case TaskAborted():
                self._approvals.withdrawn()
            case RetryScheduled(delay_ms=delay_ms):
                self._retry_at = time.monotonic() + delay_ms / 1000
            case Rewound(result=result):
                self.show_lines(map(Line, result_lines(result)))
                self.input.put(result.draft or "")
            case RewindPoints(points=points):
                self._offer_points(points)
            case State():
                if blocking_ask(self.view) is None:
                    self._approvals.withdrawn()
        self._watch_work()
        self._status.look(self.view)
        self.draw_soon()

    def _put(self, ask: OpenAsk) -> None:
        """Put what is asked to the person. Whatever was to be stopped has stopped."""
        self.is_stopping = False
        match ask.asked or QuestionAsk(question=ask.message.text or ""):
            case ApprovalAsk() as asked:
                self._approvals.put(asked, ask.message)
            case CompletionAsk():
                self.scrollback.tell_usage(self.view.usage)
                if self.view.has_ended:
                    self.start(self._keys.queue.take_all_back())
            case asked:
                if isinstance(asked, ResumeAsk):
                    self._approvals.withdrawn()
                    self.start(self._keys.queue.take_all_back())
                for words in words_for(asked):
                    self.scrollback.tell(words, Role.BOLD if words.startswith("?") else Role.PLAIN)
        if not isinstance(ask.asked, CompletionAsk):
            self.region.full_screen.tell(self.theme.row([(ASK_BEHIND, Role.WARNING)], self.width))
        self._keys.call_person()

    def _watch_work(self) -> None:
        """Count the seconds while something runs, and only then."""
        if not is_working(self.view) or blocking_ask(self.view) is not None:
            self._working_since = None
        elif self._working_since is None:
            self._working_since = time.monotonic()
            asyncio.get_running_loop().call_later(SECOND, self._tick)

    def _tick(self) -> None:
        if self._working_since is not None:
            self.region.redraw()
            asyncio.get_running_loop().call_later(SECOND, self._tick)

    def _set_title(self) -> None:
        """Name the window, with a sign if something is asked or runs; it is written only if it has changed."""
        name = self.frame_title()
        ask = blocking_ask(self.view)
        waits = ask is not None and not isinstance(ask.asked, CompletionAsk)
        sign = "? " if waits else "□ " if self._working_since is not None else ""
        title = f"{sign}Robota — {single_line(name)}" if name else f"{sign}Robota"
        if title != self._title:
            self._title = title
            self.region.output.set_title(title)

    async def complete(self) -> None:
        """Find the words that fit at the cursor; while files are still being listed, look again."""
        text, caret = self.input.text, self.input.caret
        receipt = await self.session.submit(CompletePrompt(text=text, caret=caret))
        found = receipt.completion if isinstance(receipt, Accepted) else None
        self.input.offer(text, caret, found)
        self.region.redraw()
        if found is not None and not found.is_complete:
            await asyncio.sleep(LOOK_AGAIN_S)
            if (text, caret) == (self.input.text, self.input.caret):
                await self.complete()

    # What the person does.

    async def enter(self, written: Written, *, is_steering: bool = False) -> None:
        """Do what an entered text means."""
        meaning = meaning_of_entry(written, self.view, is_steering=is_steering)
        if isinstance(meaning, RunSlashCommand) and await self._commands.run(meaning.line):
            return
        await self.send(words_for_session(written, self.view, is_steering=is_steering), written)

    async def send(self, command: Words, written: Written) -> None:
        """Send words to the session; if a task has begun or ended meanwhile, as that wants them."""
        if isinstance(command, TypeAgain):
            if command.hint:
                self.tell(command.hint)
            return
        receipt = await self.session.submit(command)
        if isinstance(receipt, Refused) and receipt.code == "no_active_task" and isinstance(command, QueueMessage):
            new = NewTask(text=command.text, images=command.images, is_command=command.is_command)
            receipt = await self.session.submit(new)
        if isinstance(receipt, Refused):
            self.tell_refusal(receipt)
            self.input.put_back(written)
        self.draw_soon()

    async def submit(self, command: Command) -> bool:
        """Send a command; False if it was refused, and the person was told why."""
        receipt = await self.session.submit(command)
        if isinstance(receipt, Refused):
            self.tell_refusal(receipt)
        return isinstance(receipt, Accepted)

    def answer(self, answer: Answer) -> None:
        """Answer the request for approval."""
        approval = self.approval
        if approval is None:
            return
        if isinstance(answer, ApproveEdited | ApproveHunks) and approval.message.call_id is not None:
            self.scrollback.show_changes_of(approval.message.call_id)
        self._approvals.answered(approval.message.ts)
        self.start(self.submit(AskResponse(answer=answer, ts=approval.message.ts)))

    @property
    def approval(self) -> PendingApproval | None:
        """The request for approval that is shown."""
        return self._approvals.shown

    def show_card(self, approval: PendingApproval) -> None:
        """Put the card of a request for approval up."""
        self.dialog = self._keys.approval_dialog(approval)
        self._keys.wake_after_pause()

    def run_line(self, line: str) -> None:
        """Run a slash command."""
        self.start(self._commands.run(line))

    def open_list(self, choice: CommandChoice, then: Callable[[str], None]) -> None:
        """Let the person choose one; `then` gets its line."""
        has_previews = any(option.preview for option in choice.options)
        if has_previews and self.approval is None and self.region.height >= LOWEST_WITH_PREVIEW:
            self.start(self._browse(choice, then))
        else:
            self._open(OpenDialog(picker_for(choice), lambda picked: _if_option(picked, then)))

    async def _browse(self, choice: CommandChoice, then: Callable[[str], None]) -> None:
        line = await self.screens.pick(
            choice, lambda option, browser: self.start(self.screens.load_preview(option, browser))
        )
        if line is not None:
            then(line)

    def show_diff(self, files: Sequence[DiffView]) -> None:
        """Show changed files on a screen of their own."""
        self.start(self.screens.read_diff(files))

    def copy(self, text: str, what: str) -> None:
        """Put a text on the person's clipboard."""
        self.region.output.copy(text)
        self.tell(f"Copied {what} ({len(text):,} characters), if your terminal lets programs copy.")

    def appear(self, appearance: Appearance) -> None:
        """Look as the person wants it from now on."""
        self._status.appearance = appearance
        if self.setup.on_appearance is not None:
            self.theme.palette = self.setup.on_appearance(appearance)

    def open_question(self, prompt: ConfirmPrompt, then: Callable[[], None]) -> None:
        """Ask yes or no; `then` is done after a yes."""
        self._open(OpenDialog(prompt, lambda answer: then() if answer is True else self.tell("Nothing was changed.")))

    def _open(self, dialog: OpenDialog) -> None:
        if self.approval is not None:
            self.tell("Answer the open question first; then type the command again.")
            return
        self.dialog = dialog
        self.draw_soon()

    def _offer_points(self, points: Sequence[PromptPoint]) -> None:
        choice = rewind_choice(points)
        if choice is None:
            self.tell("There is nothing to go back to yet.")
        else:
            self.open_list(choice, self.run_line)

    async def edited(self, text: str) -> str | None:
        """The text as the person left it in their editor; None if they did not."""
        async with self.region.lent():
            self._is_editing = True
            changed = await self.setup.edit(text)
        asyncio.get_running_loop().call_later(SIGNALS_ARE_LATE_S, self._editing_ended)
        if isinstance(changed, NotEdited):
            self.tell(f"! {changed.why}", Role.ERROR)
            return None
        return changed

    def _editing_ended(self) -> None:
        self._is_editing = False

    def start(self, job: Coroutine[Any, Any, Any]) -> None:
        """Do something beside the drawing."""
        task = asyncio.get_running_loop().create_task(job)
        self._jobs.add(task)
        task.add_done_callback(self._job_ended)

    def _job_ended(self, task: asyncio.Task[Any]) -> None:
        """A part that fails must not leave a person waiting for nothing."""
        self._jobs.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._failed = error
            self.region.leave()


def _if_option(picked: object, then: Callable[[str], None]) -> None:
    if isinstance(picked, CommandOption):
        then(picked.line)
