"""The shell of the terminal UI: feeds keys, events and timers to the reducer, and performs the effects."""

import asyncio
import signal
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Final, assert_never

import msgspec
from msgspec.structs import replace

from robota.clients.terminal.editor import EditText
from robota.clients.terminal.inbox import ShowInbox, no_inbox
from robota.clients.terminal.signals import signals_to
from robota.clients.tui.attached_files import (
    ClipboardReader,
    LookAtFile,
    dropped_files,
    no_clipboard,
    nothing_dropped,
)
from robota.clients.tui.effects import (
    After,
    AskBackground,
    CopyText,
    Effect,
    KeepPrompt,
    NoticeOnPage,
    NotifyUser,
    OpenAgents,
    OpenBrowser,
    OpenDiff,
    OpenInbox,
    OpenTranscript,
    Paint,
    PrintEvent,
    Quit,
    ReadClipboard,
    RunEditor,
    Submit,
)
from robota.clients.tui.events import (
    BackgroundReported,
    ClipboardRead,
    CursorMoved,
    EditorClosed,
    KeyPressed,
    OptionPicked,
    Pasted,
    Received,
    SessionClosed,
    SessionEvent,
    SessionOpened,
    Started,
    StatusPrinted,
    TextEdited,
    UiEvent,
)
from robota.clients.tui.file_links import FileAddress, no_links
from robota.clients.tui.flows.draft import Draft
from robota.clients.tui.flows.entered_text import is_working
from robota.clients.tui.flows.prompt_history import PromptHistory
from robota.clients.tui.key_table import USUAL, Bindings, DraftAction
from robota.clients.tui.layers import action_for
from robota.clients.tui.live_view import Frame, dialog_takes_keys, draw, window_title
from robota.clients.tui.reducer.reduce import reduce
from robota.clients.tui.screen.keys import Keyboard, bindings_for
from robota.clients.tui.screen.live_region import LiveRegion
from robota.clients.tui.scrollback import Scrollback
from robota.clients.tui.state import Colours, ScreenState
from robota.clients.tui.status_line import StatusRunner, StatusSetup
from robota.clients.tui.theme import Background, Palette, Role, Theme
from robota.protocol.appearance import Appearance, NotifyBy
from robota.protocol.commands import Refused, RunSlashCommand
from robota.protocol.port import SessionPort
from robota.protocol.slash_commands import CommandOption, NextStep

if TYPE_CHECKING:
    from robota.clients.terminal.guard import StartGuard
    from robota.clients.tui.draft_keeper import DraftKeeper, DraftStore
    from robota.clients.tui.pages.agents_page import AgentsPage
    from robota.clients.tui.pages.browser import BrowsedList
    from robota.protocol.calls import BackgroundTask

# How often streaming text is drawn. Keys are drawn at once.
DRAW_EVERY_S: Final = 0.04
# A Ctrl+C that ended the editor may arrive as a signal after its end.
LATE_SIGNAL_S: Final = 0.05
DRAFT_LEFT: Final = "What you had not sent is kept: press Up after the next start."


class ScreenSetup(msgspec.Struct, frozen=True, kw_only=True):
    """Appearance, an editor, the branch, and the prompts of earlier runs."""

    theme: Theme
    edit: EditText
    open_inbox: ShowInbox = no_inbox
    git_branch: Callable[[], str]
    prompts: Sequence[str] = ()
    on_prompt: Callable[[str], None] = lambda prompt: None
    left_draft: str = ""  # of a process that was killed
    open_drafts: "Callable[[], DraftStore] | None" = None  # called when something is written
    greeting: Sequence[str] = ()
    is_past_shown: bool = False
    has_vi_keys: bool = False
    bindings: Bindings = USUAL
    # The colours for the chosen theme and the background of the terminal, if that is known.
    palette: Callable[[Appearance, Background | None], Palette] | None = None
    asks_background: bool = False
    status: StatusSetup = StatusSetup()
    look_at_file: LookAtFile = nothing_dropped
    read_clipboard: ClipboardReader = no_clipboard
    file_address: FileAddress = no_links
    start_guard: "StartGuard | None" = None
    notify_by: NotifyBy = NotifyBy.DESKTOP


async def converse_on_screen(session: SessionPort, prompt: str | None, setup: ScreenSetup) -> int | NextStep:
    """Run the UI until the user leaves; returns the exit code, or the session to open next."""
    shell = ScreenShell(session, setup)
    with signals_to(shell.signalled):
        return await shell.run(prompt)


class ScreenShell:
    """The terminal UI of one session: the current state, and the parts that perform effects."""

    def __init__(self, session: SessionPort, setup: ScreenSetup) -> None:
        self._session = session
        self._setup = setup
        self._theme = setup.theme
        now = time.monotonic()
        self.state = ScreenState(
            now=now,
            last_key_at=now,
            has_vi_keys=setup.has_vi_keys,
            bindings=setup.bindings,
            draft=Draft(history=PromptHistory(prompts=tuple(setup.prompts))),
            colours=Colours(chosen=setup.status.appearance, may_ask_background=setup.asks_background),
        )
        self._scrollback = Scrollback(
            setup.theme, lambda: self.state.window.columns, setup.file_address, self._workspace
        )
        self.region = self._live_region()
        self._status = StatusRunner(setup.status.run, lambda output: self.dispatch(StatusPrinted(output)))
        self._drafts: DraftKeeper | None = None
        self._drawing: asyncio.TimerHandle | None = None
        self._title = ""
        self._jobs: set[asyncio.Task[Any]] = set()
        self._result: int | NextStep = 0
        self._failed: BaseException | None = None
        self._is_editing = False

    def _workspace(self) -> str:
        session = self.state.view.session
        return "" if session is None else session.cwd

    def _live_region(self) -> LiveRegion:
        setup = self._setup
        keyboard = Keyboard(
            is_for_dialog=self._is_key_for_dialog,
            has_action=lambda key: action_for(self._current(), key) is not DraftAction.EDIT_TEXT,
            stops_turn=lambda: not self.state.draft.text and is_working(self.state.view),
            press=lambda key: self.dispatch(KeyPressed(key)),
            paste=lambda text: self.dispatch(Pasted(text, dropped_files(text, setup.look_at_file))),
        )
        bindings = bindings_for(keyboard, setup.bindings)
        if setup.has_vi_keys:
            from robota.clients.tui.screen.vi_keys import bind_vi_keys

            bind_vi_keys(bindings, keyboard)
        return LiveRegion(
            self._draw,
            self._scrollback.take_rows,
            lambda text, caret: self.dispatch(TextEdited(text, caret)),
            bindings,
            has_vi_keys=setup.has_vi_keys,
            start_guard=setup.start_guard,
        )

    # Start and end.

    async def run(self, prompt: str | None) -> int | NextStep:
        """Draw and read keys until the user leaves."""
        try:
            await self.region.run(lambda: self._begin(prompt))
        except EOFError:
            self._result = 128 + signal.SIGHUP  # the terminal has gone
        self._status.close()
        self._keep_draft()
        for job in list(self._jobs):
            job.cancel()
        self.region.output.set_title("")
        self.region.print_rest([*self._scrollback.take_rows(), *self._scrollback.tail()])
        if self._failed is not None:
            raise self._failed
        return self._result

    def signalled(self, number: signal.Signals) -> None:
        """Exit on a signal. Ctrl+C is a key here; as a signal, it is for a running editor."""
        if number is not signal.SIGINT or not self._is_editing:
            self.leave(128 + number)

    def leave(self, result: int | NextStep) -> None:
        """End the conversation; the session is unchanged."""
        self._result = result
        self.region.leave()

    def _begin(self, prompt: str | None) -> None:
        self._scrollback.block(self._setup.greeting)
        self.dispatch(Started(self._setup.left_draft))
        self._start(self._follow(prompt))

    async def _follow(self, prompt: str | None) -> None:
        """Process the events of the session until it ends."""
        events, setup = self._session.events(), self._setup
        first = await anext(events)
        branch, is_past_shown = setup.git_branch(), setup.is_past_shown
        self.dispatch(SessionOpened(event=first, git_branch=branch, prompt=prompt, is_past_shown=is_past_shown))
        self._status.update(self.state.view)
        async for event in events:
            self.dispatch(SessionEvent(event))
            self._status.update(self.state.view, event)
        self.dispatch(SessionClosed())

    def _keep_draft(self) -> None:
        """Put what was not sent into the history, for the next start."""
        if (text := self.state.prompt_draft).strip():
            self._setup.on_prompt(text)
            self._scrollback.tell(DRAFT_LEFT, Role.DIM)
        if self._drafts is not None:
            self._drafts.close()

    # The loop: an event, the new state, the effects.

    def dispatch(self, event: UiEvent) -> None:
        """Process an event."""
        # Events of a session come by the thousand; the window and the cursor are as they were last drawn.
        is_from_session = isinstance(event, SessionEvent)
        before = replace(self.state, now=time.monotonic()) if is_from_session else self._current()
        self.state, effects = reduce(before, event)
        if self.state.draft is not before.draft:
            self._show_draft(before.draft)
        for effect in effects:
            self._perform(effect)
        if submitted := [effect for effect in effects if isinstance(effect, Submit)]:
            self._start(self._submit(submitted))
        if is_from_session:
            self._draw_soon()
        else:
            self.region.redraw()

    def _current(self) -> ScreenState:
        """The state at this moment: time passes, and the window and the cursor change, without an event."""
        state = replace(self.state, now=time.monotonic(), window=self.region.window)
        text, caret = self.region.position
        if caret != state.draft.caret and text == state.draft.text:
            state, _ = reduce(state, CursorMoved(caret))
        return state

    def _show_draft(self, before: Draft) -> None:
        draft = self.state.draft
        self.region.put_text(draft.text, draft.caret)
        if draft.text != before.text:
            self._draft_changed()

    def _is_key_for_dialog(self) -> bool:
        has_dialog = self.state.approval is not None or self.state.dialog is not None
        return has_dialog and dialog_takes_keys(self._current())

    def _draft_changed(self) -> None:
        if self._drafts is None and self._setup.open_drafts is not None:
            from robota.clients.tui.draft_keeper import DraftKeeper

            store = self._setup.open_drafts()
            self._drafts = DraftKeeper(lambda: self.state.prompt_draft, store, self._setup.left_draft)
        if self._drafts is not None:
            self._drafts.changed()

    def _draw_soon(self) -> None:
        """Schedule a redraw, shared with other events of the same moment."""
        if self._drawing is None:
            self._drawing = asyncio.get_running_loop().call_later(DRAW_EVERY_S, self._draw_now)

    def _draw_now(self) -> None:
        self._drawing = None
        self.region.redraw()
        self.region.full_screen.redraw()

    def _draw(self) -> Frame:
        self.state = self._current()
        title = window_title(self.state)
        if title != self._title:
            self._title = title
            self.region.output.set_title(title)
        return draw(self.state, self._theme, self._scrollback.tail())

    # Effects.

    def _perform(self, effect: Effect) -> None:
        match effect:
            case PrintEvent(event):
                self._scrollback.take(event)
            case Submit():
                return  # those of one event are submitted in their order
            case Quit(result):
                self.leave(result)
            case After(seconds, timer):
                asyncio.get_running_loop().call_later(seconds, self.dispatch, timer)
            case KeepPrompt(text):
                self._setup.on_prompt(text)
            case OpenTranscript() | OpenDiff() | OpenBrowser() | OpenAgents():
                self._start(self._open_page(effect))
            case RunEditor(text):
                self._start(self._edit(text))
            case OpenInbox() | ReadClipboard():
                self._start(self._show_inbox() if isinstance(effect, OpenInbox) else self._read_clipboard())
            case CopyText() | NotifyUser() | NoticeOnPage() | Paint() | AskBackground():
                self._use_terminal(effect)
            case _:
                self._scrollback.perform(effect)

    def _use_terminal(self, effect: CopyText | NotifyUser | NoticeOnPage | Paint | AskBackground) -> None:
        region = self.region
        match effect:
            case CopyText(text):
                region.output.copy(text)
            case NotifyUser(text, is_away):
                is_focused = region.reports.is_focused
                if is_focused is False or (is_focused is None and is_away):
                    region.output.notify_user(text, self._setup.notify_by)
            case NoticeOnPage(text):
                region.full_screen.tell(self._theme.row([(text, Role.WARNING)], region.window.columns))
            case Paint(appearance, background):
                if self._setup.palette is not None:
                    self._theme.palette = self._setup.palette(appearance, background)
            case AskBackground():
                region.ask_background(lambda background: self.dispatch(BackgroundReported(background)))
            case never:
                assert_never(never)

    def _start(self, job: Coroutine[Any, Any, Any]) -> None:
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

    async def _submit(self, submitted: Sequence[Submit]) -> None:
        for each in submitted:
            self.dispatch(Received(each.request, await self._session.submit(each.command)))

    async def _edit(self, text: str) -> None:
        async with self.region.lent():
            self._is_editing = True
            edited = await self._setup.edit(text)
        asyncio.get_running_loop().call_later(LATE_SIGNAL_S, self._editing_ended)
        self.dispatch(EditorClosed(edited))

    async def _show_inbox(self) -> None:
        async with self.region.lent():
            self._is_editing = True
            await self._setup.open_inbox()
        asyncio.get_running_loop().call_later(LATE_SIGNAL_S, self._editing_ended)

    def _editing_ended(self) -> None:
        self._is_editing = False

    async def _read_clipboard(self) -> None:
        self.dispatch(ClipboardRead(await self._setup.read_clipboard()))

    async def _open_page(self, effect: OpenTranscript | OpenDiff | OpenBrowser | OpenAgents) -> None:
        """Show a full screen; the conversation continues in the background."""
        from robota.clients.tui.pages.browser import BrowsedList
        from robota.clients.tui.pages.contents import diff_page, transcript_page

        match effect:
            case OpenTranscript():
                await self.region.show_page(transcript_page(self._scrollback.full_rows(), self._theme))
            case OpenDiff(files):
                await self.region.show_page(diff_page(files, self._theme))
            case OpenBrowser(choice, purpose):
                browser = BrowsedList(
                    choice, self._theme, lambda option: self._start(self._load_preview(browser, option))
                )
                await self.region.show_page(browser)
                self.dispatch(OptionPicked(purpose, browser.picked))
            case OpenAgents(task_id):
                await self._watch_agents(task_id)
            case never:
                assert_never(never)

    async def _watch_agents(self, task_id: str | None) -> None:
        from robota.clients.tui.pages.agents_page import AgentsPage

        def load(agent: "BackgroundTask") -> None:
            self._start(self._load_conversation(page, agent))

        def run(line: str) -> None:
            self._start(self._session.submit(RunSlashCommand(line=line)))

        page = AgentsPage(lambda: self.state.view, self._theme, load, run, task_id)
        await self.region.show_page(page)

    async def _load_conversation(self, page: "AgentsPage", agent: "BackgroundTask") -> None:
        from robota.clients.tui.pages.contents import preview_rows

        receipt = await self._session.submit(RunSlashCommand(line=f"/agent read {agent.id}"))
        outcome = None if isinstance(receipt, Refused) else receipt.outcome
        page.show(agent, [row for row in preview_rows(outcome, self._theme) if isinstance(row, str)])
        self.region.full_screen.redraw()

    async def _load_preview(self, browser: "BrowsedList", option: CommandOption) -> None:
        from robota.clients.tui.pages.contents import preview_rows

        receipt = await self._session.submit(RunSlashCommand(line=option.preview))
        outcome = None if isinstance(receipt, Refused) else receipt.outcome
        browser.show(option, preview_rows(outcome, self._theme))
        self.region.full_screen.redraw()
