"""Print mode: submit a prompt, follow the events, print, and return how it ended as the exit code."""

import asyncio
import signal
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any, Final

import msgspec

from robota.clients.headless import exit_codes
from robota.clients.headless.formats import Printer, printer_for
from robota.clients.headless.options import AnswerAsk, HeadlessOptions
from robota.clients.headless.outcome import (
    Interruption,
    RunOutcome,
    aborted_during,
    command_done,
    not_saved,
    outcome_of,
    refused,
    wrong_shape,
)
from robota.clients.headless.output import BinaryOutput, OutputLost
from robota.clients.headless.result import result_of
from robota.clients.headless.tally import Tally
from robota.clients.terminal.line import Handlers, TextOutput
from robota.clients.terminal.line_writer import LineWriter
from robota.clients.terminal.signals import signals_to
from robota.clients.view.model import ViewModel
from robota.clients.view.reduce import reduce
from robota.protocol.asks.answer import Reject, Say
from robota.protocol.asks.ask import ApprovalAsk, QuestionAsk
from robota.protocol.asks.kinds import is_non_blocking_ask
from robota.protocol.asks.seed import ask_of
from robota.protocol.commands import AskResponse, CancelTask, NewTask, Refused, RunSlashCommand
from robota.protocol.events import (
    Event,
    MessageCreated,
    MessageUpdated,
    State,
    TaskAborted,
    TaskEnded,
    Thinking,
    ToolEnd,
    ToolStart,
)
from robota.protocol.message import Message
from robota.protocol.port import SessionPort
from robota.protocol.slash_commands import CommandOutcome, CommandStarted, typed_command
from robota.protocol.state import AgentState

REPAIR: Final = "Your answer does not match the requested JSON schema. {problem} Send the whole answer again."
ENDED: Final = frozenset({AgentState.IDLE, AgentState.RESUMABLE})
Opening = NewTask | RunSlashCommand | AskResponse
FOLDED: Final = (State, MessageCreated, MessageUpdated, Thinking, ToolStart, ToolEnd, TaskAborted, TaskEnded)
NOTHING_MORE: Final = Refused(
    code="task_over",
    message="The task of this session has finished. Add a prompt to continue it.",
)


async def run_headless(
    session: SessionPort,
    prompt: str,
    options: HeadlessOptions,
    out: BinaryOutput,
    err: TextOutput,
    opening: AskResponse | NewTask | None = None,
) -> int:
    """Run one prompt to its end and return the exit code. The result is printed in every case.

    In a resumed session, `opening` is submitted first instead of the prompt.
    """
    run = HeadlessRun(session, printer_for(options, out, err), options)
    with signals_to(run.interrupt):
        await run.until_end(opening or _command_for(prompt, options))
        if options.check is not None and (wrong := run.problem_with_answer()) is not None:
            run = run.once_more()
            with signals_to(run.interrupt):
                await run.until_end(AskResponse(answer=Say(text=REPAIR.format(problem=wrong))))
    unsaved = None if options.until_saved is None else await options.until_saved()
    try:
        return run.report(unsaved)
    except OutputLost as lost:
        if lost.is_closed:
            return exit_codes.STDOUT_CLOSED
        LineWriter(err).errors((str(lost),))
        return exit_codes.TASK_FAILED


def _command_for(prompt: str, options: HeadlessOptions) -> NewTask | RunSlashCommand:
    is_command = typed_command(prompt) is not None
    return RunSlashCommand(line=prompt) if is_command else NewTask(text=prompt, images=options.images)


class HeadlessRun:
    """Runs one prompt in a session. A second run continues the tally of the first."""

    def __init__(
        self, session: SessionPort, printer: Printer, options: HeadlessOptions, tally: Tally | None = None
    ) -> None:
        self._options = options
        self._session = session
        self._printer = printer
        self._grace_s = options.cancel_grace_s
        self._leaves_asks = options.leaves_asks
        self._view = ViewModel()
        self._tally = tally or Tally()
        self._handlers = self._handlers_with(printer.handlers)
        self._left: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._cancelling: set[asyncio.Task[None]] = set()
        self._interruption: Interruption | None = None
        self._lost: OutputLost | None = None
        self._handing_over: asyncio.Task[None] | None = None
        self._answering: dict[int, asyncio.Task[None]] = {}  # by the ask; agents may ask at the same time
        self._refusal: Refused | None = None
        self._command_outcome: CommandOutcome | None = None  # of a finished slash command
        self._newest_before: int | None = None
        self._prompt_ts: int | None = None
        self._task_id: str | None = None  # the task of the prompt
        self._runs_command = False  # there is no receipt yet
        self._waits_for_command = False  # the task has ended its turn, but the command goes on

    async def until_end(self, task: Opening) -> None:
        """Return when the task has ended, or a second signal says not to wait for that."""
        following = asyncio.create_task(self._follow(task))
        try:
            await asyncio.wait({following, self._left}, return_when=asyncio.FIRST_COMPLETED)
            for ended in (following, self._left):
                if ended.done():
                    ended.result()
        finally:
            for job in (following, self._handing_over, *self._cancelling, *self._answering.values()):
                if job is not None:
                    job.cancel()

    def interrupt(self, number: signal.Signals) -> None:
        """The first signal cancels the task; the second one exits at once."""
        if self._interruption is not None:
            self._leave()
            return
        self._interruption = Interruption(exit_code=exit_codes.SIGNAL_BASE + number, signal_name=number.name)
        self._start_cancel()

    def cancel(self) -> None:
        """Interrupt the task because the client wants it, not a signal. Its result says that it was cancelled."""
        if not self._cancelling:
            self._start_cancel()

    def report(self, unsaved: str | None = None) -> int:
        """Print the result and return the exit code; `OutputLost` if it cannot be printed.

        `unsaved` is why something of the session is missing from its log.
        """
        if self._lost is not None:
            raise self._lost
        outcome = self._checked(self._outcome())
        if unsaved is not None:
            outcome = not_saved(outcome, unsaved)
        self._printer.finish(result_of(outcome, self._tally, self._options.show_call))
        return outcome.exit_code

    def problem_with_answer(self) -> str | None:
        """The problem that the check finds in the answer; None if it is valid, or there is no check."""
        outcome = self._outcome()
        check = self._options.check
        if check is None or outcome.is_error or self._lost is not None or self._command_outcome is not None:
            return None
        return check(outcome.result)[1]

    def once_more(self) -> "HeadlessRun":
        """A second run in the same session, with the same printer."""
        return HeadlessRun(self._session, self._printer, self._options, self._tally)

    def _checked(self, outcome: RunOutcome) -> RunOutcome:
        """The outcome with the validated answer, or a failure with the problem."""
        check = self._options.check
        if check is None or outcome.is_error or self._command_outcome is not None:
            return outcome
        answer, problem = check(outcome.result)
        if problem is None:
            return msgspec.structs.replace(outcome, result=answer, is_structured=True)
        return wrong_shape(outcome.result, problem)

    async def _follow(self, task: Opening) -> None:
        events = self._session.events()
        try:
            # The first event arrives once we are subscribed; with a prompt submitted before, we could miss events.
            first = await anext(events, None)
            if first is not None:
                self._take(first)
            self._newest_before = self._view.agent.last_message_ts
            if self._cancelling:
                return
            # Events may arrive before it is accepted, such as a notice about what it waits for.
            self._runs_command = isinstance(task, RunSlashCommand)
            self._handing_over = asyncio.create_task(self._hand_over(task))
            await self._follow_task(events, task)
        finally:
            if isinstance(events, AsyncGenerator):
                await events.aclose()

    async def _hand_over(self, task: Opening) -> None:
        try:
            receipt = await self._session.submit(task)
        except Exception as error:  # noqa: BLE001 - a boundary: the caller that waits for the end must get the error
            self._left.set_exception(error)
            return
        if isinstance(receipt, Refused):
            self._refusal = receipt
            self._leave()
        elif receipt.outcome is not None and not isinstance(receipt.outcome, CommandStarted):
            self._command_outcome = receipt.outcome
            self._leave()
        elif self._waits_for_command:
            self._leave()
        self._runs_command = False

    async def _follow_task(self, events: AsyncIterator[Event], opening: Opening) -> None:
        handlers = self._handlers
        async for event in events:
            if type(event) not in handlers:
                continue
            self._take(event)
            handlers = self._handlers
            if isinstance(event, MessageCreated | MessageUpdated):
                if await self._is_end(event.message, event.task_id):
                    return
            elif isinstance(event, TaskAborted | TaskEnded) and self._is_end_of_task(event, opening):
                return

    def _take(self, event: Event) -> None:
        try:
            for handle in self._handlers.get(type(event), ()):
                handle(event)
        except OutputLost as lost:
            self._lost = lost
            self._handlers = self._handlers_with({})
            self._start_cancel()

    async def _is_end(self, message: Message, task_id: str) -> bool:
        """Whether this message ends the run. A request for approval is rejected."""
        if message.is_answered and (answering := self._answering.pop(message.ts, None)) is not None:
            answering.cancel()  # another client has answered
        if message.type != "ask" or message.partial is True or message.is_answered or self._is_old(message):
            return False
        info = self._view.agent
        is_shown = info.last_message_ts == message.ts and not is_non_blocking_ask(message.ask)
        is_question = isinstance(ask_of(message), ApprovalAsk | QuestionAsk)
        if self._options.answer is not None and is_question and (is_shown or self._view.is_asked_beside(message.ts)):
            self._let_answer(message, task_id, self._options.answer)
            return False
        if not is_shown:
            return False
        if info.state in ENDED or isinstance(ask_of(message), QuestionAsk):
            # A command that waits for agents has begun a task that only waits for them, too.
            self._waits_for_command = self._runs_command
            return not self._runs_command
        if self._leaves_asks and isinstance(ask_of(message), ApprovalAsk):
            return True
        # Also reached by unknown asks of a newer engine: rejecting allows nothing.
        await self._session.submit(AskResponse(answer=Reject(), ts=message.ts))
        return False

    def _let_answer(self, message: Message, task_id: str, answer: AnswerAsk) -> None:
        """Events continue to be printed while the answer is awaited."""
        if message.ts not in self._answering:
            self._answering[message.ts] = asyncio.create_task(self._answer(message, task_id, answer))

    async def _answer(self, message: Message, task_id: str, answer: AnswerAsk) -> None:
        try:
            given = await answer(message, task_id)
            if given is None:
                self._leave()
            else:
                await self._session.submit(AskResponse(answer=given, ts=message.ts))
        except Exception as error:  # noqa: BLE001 - a boundary: the caller that waits for the end must get the error
            if not self._left.done():
                self._left.set_exception(error)

    def _is_end_of_task(self, event: TaskAborted | TaskEnded, opening: Opening) -> bool:
        """Whether our task is over, and not an earlier one of the session or a subtask."""
        if self._task_id is None and isinstance(event, TaskEnded) and isinstance(opening, AskResponse):
            self._refusal = NOTHING_MORE  # the answer has ended the task of the resumed session
            return True
        return event.task_id == self._task_id and not self._cancelling

    def _is_old(self, message: Message) -> bool:
        """Whether a row is older than our prompt: the ask at which an earlier run of this session ended."""
        return self._newest_before is not None and message.ts <= self._newest_before

    def _handlers_with(self, printing: Handlers) -> dict[type, tuple[Callable[[Any], None], ...]]:
        """One table of all handlers; an event without one costs one lookup."""
        # Without deltas: a finished row arrives complete, and a long stream should cost nothing here.
        folding: Handlers = {kind: self._fold for kind in FOLDED}
        sources = (folding, self._tally.handlers, printing)
        kinds = {kind for source in sources for kind in source}
        return {kind: tuple(source[kind] for source in sources if kind in source) for kind in kinds}

    def _fold(self, event: Event) -> None:
        self._view = reduce(self._view, event)
        if isinstance(event, MessageCreated) and self._prompt_ts is None:
            self._prompt_ts, self._task_id = event.message.ts, event.task_id

    def _start_cancel(self) -> None:
        job = asyncio.create_task(self._cancel())
        self._cancelling.add(job)

    async def _cancel(self) -> None:
        receipt = await self._session.submit(CancelTask())
        if not isinstance(receipt, Refused):
            await asyncio.sleep(self._grace_s)
        self._leave()

    def _leave(self) -> None:
        if not self._left.done():
            self._left.set_result(None)

    def _outcome(self) -> RunOutcome:
        if self._refusal is not None and self._interruption is None:
            return refused(self._refusal)
        if self._command_outcome is not None:
            return command_done(self._command_outcome)
        return outcome_of(
            # Without a row of ours, the last message belongs to an earlier run of the session.
            tuple(self._view.rows) if self._prompt_ts is not None else (),
            prompt_ts=self._prompt_ts,
            aborted_during=aborted_during(self._view),
            session_id=self._tally.session_id,
            interruption=self._interruption,
        )
