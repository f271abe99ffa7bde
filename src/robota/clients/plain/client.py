"""Run a conversation at a terminal line by line, and ask the user every ask of the engine."""

import asyncio
import signal
from collections.abc import Coroutine, Iterable
from typing import Any, Final, assert_never

import msgspec

from robota.clients.answering.approval_line import HINT, Again, EditFirst, ShowAll, meaning_of
from robota.clients.answering.question_line import TalkAsk, answer_to, hint_for, shell_command, words_for
from robota.clients.answering.yes_or_no import is_clear_yes
from robota.clients.plain.next_task import NextTask, is_at_rest, wants_words
from robota.clients.plain.prompter import Prompter
from robota.clients.plain.still_running import StillRunning
from robota.clients.render.approval_lines import choice_lines, cut, reason_lines, subject_lines
from robota.clients.render.command_text import conversation_lines
from robota.clients.render.line_transcript import CONVERSATION_EVENTS, LineTranscript
from robota.clients.render.past_rows import PastConversation, past_lines
from robota.clients.render.rewind_lines import preview_lines, question_about, result_lines
from robota.clients.render.view_lines import whole_view
from robota.clients.terminal.editor import EditText, NotEdited
from robota.clients.terminal.guard import StartGuard
from robota.clients.terminal.inbox import ShowInbox, no_inbox
from robota.clients.terminal.line import BOLD, DIM, RED, Line, TextOutput
from robota.clients.terminal.line_writer import LineWriter
from robota.clients.terminal.signals import signals_to
from robota.clients.view.model import ViewModel
from robota.clients.view.reduce import reduce
from robota.protocol.asks.answer import Answer, Approve, ApproveEdited, ApproveHunks, ApproveInput, Reject, Say
from robota.protocol.asks.ask import (
    ApprovalAsk,
    Ask,
    CompletionAsk,
    QuestionAsk,
    ResumeAsk,
)
from robota.protocol.asks.kinds import is_non_blocking_ask
from robota.protocol.asks.seed import ask_of
from robota.protocol.commands import (
    Accepted,
    AskResponse,
    CancelTask,
    Command,
    NewTask,
    QueueMessage,
    Refused,
    RemoveQueuedMessage,
    RunSlashCommand,
)
from robota.protocol.events import (
    Event,
    MessageCreated,
    Rewound,
    State,
    TaskAborted,
    TaskAskResponded,
    TaskEnded,
    TaskTokenUsageUpdated,
)
from robota.protocol.message import Message
from robota.protocol.port import SessionPort
from robota.protocol.slash_commands import (
    AgentsShown,
    ClientClosed,
    CommandChoice,
    CommandList,
    CommandOutcome,
    CommandShown,
    CommandStarted,
    ContextShown,
    DiffShown,
    InboxWanted,
    NextStep,
    PreviewShown,
    RewindShown,
    RowsShown,
    SessionDetached,
    SessionWanted,
    TextCopied,
    typed_order,
)
from robota.protocol.views import TerminalView
from robota.text.visible import single_line

# The Ctrl+C that ended an editor may arrive after its end.
SIGNALS_ARE_LATE_S: Final = 0.05
LEAVING: Final = "(press Ctrl+C again or Ctrl+D to exit)"
MAX_QUEUED_LENGTH: Final = 200
NO_TASK_YET: Final = "There is no task yet. Enter a prompt first."
SEE_ALL_FIRST: Final = "Not everything has been shown yet: type all to see the rest, or n to reject."
INSTEAD: Final = "Nothing was changed. To ask for something different, type n and what should change."


class Terminal(msgspec.Struct, frozen=True, kw_only=True):
    """The client's access to the machine."""

    input: int
    out: TextOutput
    edit: EditText
    open_inbox: ShowInbox = no_inbox
    is_past_shown: bool = False
    start_guard: StartGuard | None = None


async def converse(session: SessionPort, prompt: str | None, terminal: Terminal) -> int | NextStep:
    """Talk until the user leaves; returns the exit code, or the session to continue with."""
    conversation = Conversation(session, terminal)
    job_control = (signal.SIGTSTP, signal.SIGCONT)
    with signals_to(conversation.signalled, *job_control), conversation.prompter.console.reading():
        return await conversation.run(prompt)


class Conversation:
    """The conversation of one user in one session."""

    def __init__(self, session: SessionPort, terminal: Terminal) -> None:
        self._session = session
        self._edit = terminal.edit
        self._open_inbox = terminal.open_inbox
        self._is_past_shown = terminal.is_past_shown
        self._lines = LineWriter(terminal.out)
        self._view = ViewModel()
        self._printed = LineTranscript(self._lines, CONVERSATION_EVENTS)
        self._still_running = StillRunning(self._lines, lambda: self._view)
        self._handlers = (self._printed.handlers, self._still_running.handlers)
        self.prompter = Prompter(terminal.input, self._lines, self._queue, terminal.start_guard)
        self._asking: asyncio.Task[None] | None = None
        self._jobs: set[asyncio.Task[Any]] = set()
        self._over: asyncio.Future[int | NextStep] = asyncio.get_running_loop().create_future()
        self._pressed = False
        self._is_editing = False
        self._typed_ahead: list[str] = []  # lines entered before the next prompt could be asked for
        self._asked: Ask | NextTask | None = NextTask()  # the current question
        self._asked_ts: int | None = None  # its row, if the engine asks

    async def run(self, prompt: str | None) -> int | NextStep:
        self._start(self._follow(prompt))
        try:
            return await self._over
        finally:
            self._still_running.stop()
            for job in list(self._jobs):
                job.cancel()

    def signalled(self, number: signal.Signals) -> None:
        """Ctrl+C cancels what is running; a second one, or two if nothing is running, exits."""
        if number is signal.SIGTSTP:
            self.prompter.console.pause()  # restore the terminal for the shell
            signal.raise_signal(signal.SIGSTOP)
        elif number is signal.SIGCONT:
            if not self._is_editing:
                self.prompter.console.resume()
            self._lines.is_open = False
            self.prompter.show_again()
        elif number is not signal.SIGINT:
            self._leave(128 + number)
        elif not self._is_editing:  # else it was for the editor
            self._interrupt()

    def _interrupt(self) -> None:
        self.prompter.interrupt()
        if self._pressed:
            self._leave(128 + signal.SIGINT)
            return
        self._pressed = True
        self._start(self._cancel())

    async def _cancel(self) -> None:
        if is_at_rest(self._asked) or isinstance(await self._session.submit(CancelTask()), Refused):
            self._lines.line(LEAVING, DIM)
            self.prompter.show_again()

    async def _follow(self, prompt: str | None) -> None:
        events = self._session.events()
        self._view = reduce(self._view, await anext(events))
        pending = self._view.pending_ask
        self._replace_question(self._next_task(prompt) if pending is None else self._resume(pending.message, prompt))
        async for event in events:
            self._take(event)
        self._leave(0)

    async def _resume(self, message: Message, prompt: str | None) -> None:
        """Show the end of the resumed conversation, and continue with the open ask."""
        self._printed.transcript.resume(self._view.session.current_task_id if self._view.session is not None else None)
        older = self._view.session.older_rows if self._view.session is not None else 0
        if not self._is_past_shown:
            past = PastConversation(rows=tuple(self._view.rows), calls=self._view.past_calls, older=older)
            self._show_lines(past_lines(past, bullet=self._lines.bullet))
        asked = ask_of(message) or QuestionAsk(question=message.text or "")
        if prompt is not None:
            self._asked = None
            await self._submit(AskResponse(answer=Say(text=prompt), ts=message.ts))
            return
        self._asked, self._asked_ts = asked, message.ts
        await self._question(asked, message)

    def _take(self, event: Event) -> None:
        self._view = reduce(self._view, event)
        for handlers in self._handlers:
            if handle := handlers.get(type(event)):
                handle(event)
        match event:
            case MessageCreated() | TaskEnded():  # an agent that ended may have withdrawn its question
                self._ask_next()
            case TaskAskResponded(ts=ts):
                self._pressed = False
                self._withdraw(ts)
                self._ask_next()
            case TaskTokenUsageUpdated(token_usage=used) if not self._view.agent.is_running:
                self._printed.usage.shown = used  # the usage before this process
            case Rewound(result=result):
                self._show_lines(map(Line, result_lines(result)))
                self.prompter.draft = result.draft or ""
            case TaskAborted() if self._has_failed:
                self._replace_question(self._next_task())  # it ended with an error, so the engine asks nothing more
            case State(state=state) if state.current_task_id is None and self._asked_ts is not None:
                self._replace_question(self._next_task())  # the task that asked was cleared
        self.prompter.show_again()

    def _ask_next(self) -> None:
        """Ask what the user is to answer now, unless that is what is asked already: several agents may ask at once."""
        pending = self._view.pending_ask
        if pending is None or pending.message.ts == self._asked_ts or is_non_blocking_ask(pending.message.ask):
            return
        asked = pending.asked or QuestionAsk(question=pending.message.text or "")
        self._asked, self._asked_ts = asked, pending.message.ts
        self._replace_question(self._question(asked, pending.message))

    @property
    def _has_failed(self) -> bool:
        """Whether the newest row is an error of the task itself, not of a call."""
        last = self._view.rows.last()
        return last is not None and last.say == "error" and last.call_id is None

    def _replace_question(self, question: Coroutine[Any, Any, None]) -> None:
        """Replace the current question."""
        if self._asking is not None:
            self._asking.cancel()
        self._asking = self._start(question)

    def _withdraw(self, ts: int) -> None:
        """Remove this question if it is the current one: it was answered by queued text or by another client."""
        if ts == self._asked_ts:
            if self._asking is not None:
                self._asking.cancel()
            self._asked = self._asked_ts = None

    async def _question(self, asked: Ask, message: Message) -> None:
        answer = await (self._approval(asked) if isinstance(asked, ApprovalAsk) else self._talk(asked))
        self._asked = self._asked_ts = None
        if isinstance(answer, ApproveEdited | ApproveHunks) and message.call_id is not None:
            self._printed.transcript.show_change_of(message.call_id)  # the user edited the call
        if isinstance(answer, Reject) and not isinstance(asked, ApprovalAsk):
            await self._take_back_queued()  # the turn is given up
        await self._submit(AskResponse(answer=answer, ts=message.ts))

    async def _talk(self, asked: TalkAsk) -> Answer:
        if isinstance(asked, CompletionAsk | ResumeAsk):
            self._printed.tell_usage(self._view, is_stopped=isinstance(asked, ResumeAsk))
        self._lines.gap()
        for words in words_for(asked):
            self._lines.prose(words, BOLD if words.startswith("?") else None, indent="  ")
        while True:
            typed = await self._typed(is_answer=not wants_words(asked))
            answer = None if typed is None else answer_to(asked, typed)
            if answer is not None:
                return answer
            if typed is not None and (hint := hint_for(asked)):
                self._lines.prose(hint, DIM)

    async def _approval(self, asked: ApprovalAsk) -> Answer:
        subject = subject_lines(asked)
        shown = cut(subject)
        self._show(asked, shown)
        while True:
            typed = await self._typed(is_answer=True)
            match Again(HINT) if typed is None else meaning_of(typed, asked):
                case ShowAll():
                    shown = subject
                    self._show(asked, shown)
                case EditFirst() if asked.editable is not None:
                    changed = await self._edited(asked.editable.text)
                    if changed is not None:
                        self._show_changed(asked, changed)
                        return ApproveEdited(edited=changed)
                case EditFirst():
                    self._lines.prose(f"This cannot be edited before it runs. {HINT}", DIM)
                case Again(hint):
                    self._lines.prose(hint, DIM)
                case Approve() | ApproveHunks() | ApproveInput() if shown != subject:
                    self._lines.prose(SEE_ALL_FIRST, DIM)
                case Approve() | ApproveEdited() | ApproveHunks() | ApproveInput() | Reject() | Say() as answer:
                    return answer
                case never:
                    assert_never(never)

    def _show_changed(self, asked: ApprovalAsk, text: str) -> None:
        """Show an edited command as it will run; an edited file is shown when it is written."""
        if isinstance(asked.view, TerminalView):
            self._show_lines(whole_view(TerminalView(command=text, output="")))

    def _show(self, asked: ApprovalAsk, subject: tuple[Line, ...]) -> None:
        self._show_lines(subject)
        for line in (*reason_lines(asked.verdict), *choice_lines(asked)):
            self._lines.prose(line.text, line.colour)

    async def _edited(self, text: str) -> str | None:
        """The text after editing; None if it is unchanged."""
        self._is_editing = True
        try:
            with self.prompter.console.lent():
                changed = await self._edit(text)
            await asyncio.sleep(SIGNALS_ARE_LATE_S)
        finally:
            self._is_editing = False
        if isinstance(changed, NotEdited):
            self._lines.prose(f"! {changed.why} {INSTEAD}", RED, indent="  ")
        elif changed == text:
            self._lines.line("Nothing was changed.", DIM)
        else:
            return changed
        return None

    async def _typed(self, *, is_answer: bool = False) -> str | None:
        """The typed text; None if it was a command for the client. At the end of the input, the client exits."""
        if isinstance(self._asked, NextTask) and self._typed_ahead:
            typed: str | None = self._typed_ahead.pop(0)
        else:
            typed = await (self.prompter.answer() if is_answer else self.prompter.text())
        if typed is None:
            self._lines.words("\n")
            self._leave(0)
            await asyncio.Future()  # until this is cancelled with everything else
        self._pressed = False
        assert typed is not None
        if typed_order(typed) is None or not await self._run_command(typed):
            return typed
        return None

    async def _run_command(self, line: str) -> bool:
        """Run a slash command and show its result. False if several lines only looked like one."""
        receipt = await self._session.submit(RunSlashCommand(line=line))
        if isinstance(receipt, Refused):
            if receipt.code == "unknown_command" and "\n" in line.strip():
                return False
            self._tell_refusal(receipt)
            return True
        await self._show_outcome(receipt.outcome)
        return True

    async def _show_outcome(self, outcome: CommandOutcome | None) -> None:
        match outcome:
            case CommandShown(view=view) | AgentsShown(view=view):
                self._show_lines(whole_view(view, width=self._lines.width))
            case ContextShown() | PreviewShown() | RowsShown() | DiffShown() | TextCopied():
                self._show_lines(conversation_lines(outcome, self._lines.width))
            case CommandChoice() as choice:
                await self._choose(choice)
            case RewindShown():
                await self._go_back(outcome)
            case CommandStarted() if self._asked is not None:
                self._asked = None  # something is running now, which Ctrl+C cancels
                await asyncio.Future()  # until the next question
            case ClientClosed():
                self._leave(0)
            case InboxWanted():
                await self._show_inbox()
            case SessionWanted() | SessionDetached():
                self._leave(outcome)
                await asyncio.Future()  # until this is cancelled with everything else
            case CommandStarted() | CommandList() | None:
                return
            case never:
                assert_never(never)

    async def _show_inbox(self) -> None:
        self._is_editing = True
        try:
            with self.prompter.console.lent():
                await self._open_inbox()
            await asyncio.sleep(SIGNALS_ARE_LATE_S)
        finally:
            self._is_editing = False

    async def _go_back(self, shown: RewindShown) -> None:
        """Show what going back would change, and do it if the user confirms."""
        if shown.is_done:
            if shown.result.changes_conversation:
                await asyncio.Future()  # until the engine asks how to continue
            return
        self._show_lines(preview_lines(shown.result))
        if shown.line is None:
            return
        if not is_at_rest(self._asked):
            self._lines.prose("Rewinding works only while the agent is idle: press Ctrl+C, or wait.", DIM)
            return
        question = f"? {question_about(shown.result)} Type y to confirm; anything else cancels."
        self._lines.prose(question, BOLD, indent="  ")
        if is_clear_yes((await self.prompter.answer() or "").strip()):
            await self._run_command(shown.line)
        else:
            self._lines.line("Nothing was changed.", DIM)

    async def _choose(self, choice: CommandChoice) -> None:
        """Let the user select an option by number; while the agent works, only show what to type."""
        self._lines.prose(choice.title, indent="  ")
        for number, option in enumerate(choice.options, start=1):
            self._lines.prose(f"  {number} {option.label}  {option.detail}".rstrip(), indent="      ")
        if self._asked is None:
            self._lines.prose(f"Type {choice.options[0].line} or another command of the list to choose.", DIM)
            return
        self._lines.prose("Type a number to choose, or press Enter to cancel.", DIM)
        typed = (await self.prompter.answer() or "").strip()
        if typed.isascii() and typed.isdecimal() and 1 <= int(typed) <= len(choice.options):
            line = choice.options[int(typed) - 1].line
            if line.endswith(" "):
                self.prompter.draft = line  # the user completes it
            else:
                await self._run_command(line)

    def _show_lines(self, lines: Iterable[Line]) -> None:
        for line in lines:
            self._lines.show(line)

    async def _next_task(self, prompt: str | None = None) -> None:
        self._asked_ts = None
        await self._take_back_queued()
        while True:
            self._asked = NextTask()
            typed = prompt if prompt is not None else await self._typed()
            if typed is not None and typed.strip():
                self._asked = None  # starting a task may take a while
                command = shell_command(typed)
                if await self._submit(NewTask(text=command or typed, is_command=command is not None)) is not None:
                    return
            prompt = None

    async def _take_back_queued(self) -> None:
        """Put text that was queued for an ended task back into the input, for the user to send or delete."""
        for waiting in self._view.queue:
            if isinstance(await self._session.submit(RemoveQueuedMessage(id=waiting.id)), Accepted):
                typed = f"!{waiting.text}" if waiting.is_command else waiting.text
                self.prompter.draft = f"{self.prompter.draft}\n{typed}".lstrip("\n")

    async def _submit(self, command: Command) -> Accepted | None:
        """Submit a command; returns the receipt, or None after showing why the session refused it."""
        receipt = await self._session.submit(command)
        if isinstance(receipt, Accepted):
            return receipt
        self._tell_refusal(receipt)
        return None

    def _tell_refusal(self, refusal: Refused) -> None:
        why = NO_TASK_YET if refusal.code == "no_active_task" else refusal.message
        self._lines.prose(f"! {why}", RED, indent="  ")

    def _queue(self, line: str | None) -> None:
        """Queue text typed while the agent works; Ctrl+D takes effect at once."""
        if line is None:
            self._leave(0)
            return
        if isinstance(self._asked, NextTask):
            self._typed_ahead.append(line)
        elif line.strip():
            self._start(self._command_or_queued(line))

    async def _command_or_queued(self, line: str) -> None:
        if typed_order(line) is not None and await self._run_command(line):
            return
        command = shell_command(line)
        receipt = await self._session.submit(QueueMessage(text=command or line, is_command=command is not None))
        if isinstance(receipt, Accepted):
            self._lines.prose(f"(queued for the agent: {single_line(line, MAX_QUEUED_LENGTH)})", DIM)
        elif receipt.code == "no_active_task":
            self._typed_ahead.append(line)  # the task has just ended, so this starts the next one
            self._replace_question(self._next_task())
        else:
            self._tell_refusal(receipt)

    def _start(self, job: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(job)
        self._jobs.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        """End the conversation if a background part failed, so that the user does not wait forever."""
        self._jobs.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and not self._over.done():
            self._over.set_exception(error)

    def _leave(self, end: int | NextStep) -> None:
        if not self._over.done():
            self._over.set_result(end)
