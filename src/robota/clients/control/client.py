"""Runs the prompts of a program one after the other. Each is a turn with its own `init` and `result`."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any, Final

import msgspec

from robota.clients.control.connection import ControlConnection, RequestRefused, UserLine, words_and_images
from robota.clients.control.mirror import TranscriptMirror
from robota.clients.control.permission import (
    PermissionAnswer,
    ReadInput,
    approval_answer,
    approval_request,
    approved_call,
    question_answer,
    question_request,
    shown_subject,
)
from robota.clients.headless import exit_codes
from robota.clients.headless.client import REPAIR, HeadlessRun
from robota.clients.headless.options import CheckAnswer, HeadlessOptions, OutputFormat, ShowCall, ShownAgent
from robota.clients.headless.output import Output
from robota.clients.headless.result import Result, new_uuid
from robota.clients.headless.stream_json import StreamJsonPrinter
from robota.clients.headless.tally import Tally
from robota.clients.render.command_text import command_text
from robota.clients.terminal.line import Handlers
from robota.protocol.asks.answer import Answer, Reject, Say
from robota.protocol.asks.ask import ApprovalAsk, QuestionAsk
from robota.protocol.asks.seed import ask_of
from robota.protocol.commands import (
    AskResponse,
    NewTask,
    QueueMessage,
    Refused,
    RunSlashCommand,
    SetPermissionMode,
)
from robota.protocol.conversation import ToolUseBlock
from robota.protocol.events import State, TurnReply, TurnResults
from robota.protocol.message import Message
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.port import SessionPort
from robota.protocol.slash_commands import SessionWanted, SlashCommandInfo, typed_command
from robota.protocol.state import detect_agent_state
from robota.version import VERSION

# Modes of Claude Code in which nobody is asked, or that Robota does not have: those ask as usual.
NOT_ASKING: Final = "dontAsk"
AS_USUAL: Final = frozenset({"auto", NOT_ASKING})
# The SDKs warn if this version of Claude Code is older than their protocol.
SPOKEN_VERSION: Final = f"2.1.0 (robota {VERSION})"
# Why a turn ended, where Claude Code has another word for it.
CLAUDE_REASONS: Final = {
    "internal_error": "model_error",
    "log_failed": "model_error",
    "needs_input": "tool_deferred",
    "repeated_tool_use": "malformed_tool_use_exhausted",
}
NOT_ASKED: Final = "The permission mode dontAsk denies what would need approval."


# By task and id: the model numbers the calls of each conversation by itself.
Calls = dict[tuple[str, str], ToolUseBlock]


class ControlOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How the program wants its session to run.

    With `asks_program`, the program answers approvals and questions; otherwise approvals are denied and questions end
    the turn. `show_call` and `read_input` translate calls to the names of Claude's tools and back. With `hides_state`,
    the SDK follows the state of the session and keeps it from the program.
    """

    show_call: ShowCall
    read_input: ReadInput
    commands: Callable[[], Sequence[SlashCommandInfo]]
    agents: Callable[[], Sequence[ShownAgent]] = tuple
    asks_program: bool = False
    include_partial_messages: bool = False
    replays_prompts: bool = False
    hides_state: bool = False
    check: CheckAnswer | None = None
    mirror: TranscriptMirror | None = None


class ControlClient:
    """A client of one session for a program that speaks the control protocol."""

    def __init__(
        self,
        session: SessionPort,
        connection: ControlConnection,
        output: Output,
        options: ControlOptions,
        before: "ControlClient | None" = None,
    ) -> None:
        """`before` is the client of the session that this one continues, with another model."""
        self._session = session
        self._connection = connection
        self._output = output
        self._options = options
        self._tally: Tally = Tally() if before is None else before._tally
        self._run: HeadlessRun | None = None
        self._wanted: SessionWanted | None = None
        self._later: list[str] = []  # settings that were changed during a turn
        self._is_asking = options.asks_program
        # The ids of the prompts of this connection.
        self.prompts: list[str] = [] if before is None else before.prompts
        self.calls: Calls = {}
        connection.on_urgent = self._steer

    async def run(self) -> int | SessionWanted:
        """Run prompts until the program sends no more; returns the exit code of the last one.

        If the program wants another model, the session is opened again with it before the next prompt.
        """
        code = exit_codes.DONE
        while (prompt := await self._connection.next_prompt()) is not None:
            await self._change_what_was_left()
            if self._wanted is not None:
                self._connection.put_back(prompt)
                return self._wanted
            code = await self._turn(prompt)
            if not self._connection.has_prompt:
                self._tell_state("idle")
        return code

    def interrupt(self, *, forgets_waiting: bool = False) -> dict[str, Any]:
        """Stop the turn that is running, if there is one. Returns which prompts still wait, and which do not."""
        cancelled = self._connection.forget_prompts(*self._connection.waiting_prompts) if forgets_waiting else None
        if self._run is not None:
            self._run.cancel()
        forgotten = {} if cancelled is None else {"cancelled": cancelled}
        return {"still_queued": self._connection.waiting_prompts, **forgotten}

    def forget(self, uuid: str) -> bool:
        """Forget a prompt that waits; False if it does not."""
        return bool(self._connection.forget_prompts(uuid))

    async def do_now(self, line: str) -> str:
        """Run a slash command also while a turn is running; returns its text. Raises `RequestRefused`."""
        receipt = await self._session.submit(RunSlashCommand(line=line))
        if isinstance(receipt, Refused):
            raise RequestRefused(receipt.message)
        return "" if receipt.outcome is None else command_text(receipt.outcome)

    @property
    def spent(self) -> Tally:
        """What the prompts of this connection have used."""
        return self._tally

    def stop(self) -> None:
        """Stop the turn that is running, and take no more prompts."""
        self._connection.stop()
        self.interrupt()

    async def change(self, line: str) -> None:
        """Change a setting with a slash command, before the next prompt if one is running. Raises `RequestRefused`."""
        if self._run is not None:
            self._later.append(line)
            return
        receipt = await self._session.submit(RunSlashCommand(line=line))
        if isinstance(receipt, Refused):
            raise RequestRefused(receipt.message)
        if isinstance(receipt.outcome, SessionWanted):
            self._wanted = receipt.outcome
        elif receipt.outcome is not None:
            self._connection.tell(command_text(receipt.outcome))  # such as that the model knows no effort

    async def _change_what_was_left(self) -> None:
        later, self._later = self._later, []
        for line in later:
            try:
                await self.change(line)
            except RequestRefused as refusal:
                self._connection.complain(str(refusal))

    async def set_mode(self, mode: str) -> None:
        """Switch the permission mode. Raises `RequestRefused`."""
        if mode not in set(PermissionMode) | AS_USUAL:
            raise RequestRefused(f"There is no permission mode {mode!r}; known are {', '.join(PermissionMode)}.")
        permission_mode = PermissionMode.DEFAULT if mode in AS_USUAL else PermissionMode(mode)
        receipt = await self._session.submit(SetPermissionMode(permission_mode=permission_mode))
        if isinstance(receipt, Refused):
            raise RequestRefused(receipt.message)
        self._is_asking = self._options.asks_program and mode != NOT_ASKING
        self._connection.send(
            {
                "type": "system",
                "subtype": "status",
                "status": None,
                "permissionMode": mode,
                "session_id": self._tally.session_id,
                "uuid": new_uuid(),
            }
        )

    async def _turn(self, prompt: UserLine) -> int:
        text, images = words_and_images(prompt.message.get("content"))
        if typed_command(text) is None and (context := self._connection.take_context()):
            text = f"{context}\n\n{text}"
        opening = await self._opening(text, images, is_plain=prompt.client_composed)
        if not isinstance(opening, RunSlashCommand):
            self.prompts.append(prompt.uuid)
        if self._options.replays_prompts:
            self._replay(prompt)
        self.calls.clear()
        mirror = self._options.mirror
        if mirror is not None and not isinstance(opening, RunSlashCommand):
            mirror.prompt(prompt.uuid, text)
        inner = StreamJsonPrinter(self._output, self._headless())
        printer = TurnPrinter(inner, self._tally, self.calls, mirror)
        run = self._run = HeadlessRun(self._session, printer, self._headless(), self._tally)
        try:
            await run.until_end(opening)
            if (wrong := run.problem_with_answer()) is not None:
                run = self._run = run.once_more()
                await run.until_end(AskResponse(answer=Say(text=REPAIR.format(problem=wrong))))
        finally:
            self._run = None
        return run.report()

    def _headless(self) -> HeadlessOptions:
        return HeadlessOptions(
            output_format=OutputFormat.STREAM_JSON,
            include_partial_messages=self._options.include_partial_messages,
            commands=self._options.commands,
            agents=self._options.agents,
            show_call=self._options.show_call,
            check=self._options.check,
            answer=self._answer if self._options.asks_program else None,
            agent_version=SPOKEN_VERSION,
        )

    async def _opening(
        self, text: str, images: tuple[str, ...], *, is_plain: bool
    ) -> NewTask | AskResponse | RunSlashCommand:
        if not is_plain and typed_command(text) is not None:
            return RunSlashCommand(line=text, as_prompt=True)
        state = await self.state()
        if detect_agent_state(state.state.cline_messages).current_ask is not None:
            return AskResponse(answer=Say(text=text, images=images))
        return NewTask(text=text, images=images)

    async def state(self) -> State:
        """The current state of the session."""
        events = self._session.events()
        try:
            first = await anext(events)
            assert isinstance(first, State), "a subscription begins with the state"
            return first
        finally:
            if isinstance(events, AsyncGenerator):
                await events.aclose()

    async def _answer(self, message: Message, task_id: str) -> Answer | None:
        """Ask the program. If it has gone or fails, the answer is no."""
        if not self._is_asking:
            return Reject(text=NOT_ASKED)
        self._tell_state("requires_action")
        try:
            decided = await self._decision(message, task_id)
        except RequestRefused as refusal:
            return Reject(text=str(refusal))
        self._tell_state("running")
        if decided.mode is not None:
            try:
                await self.set_mode(decided.mode)
            except RequestRefused as refusal:
                self._connection.complain(str(refusal))  # the answer itself counts all the same
        if decided.interrupts:
            self.interrupt()
        return decided.answer

    async def _decision(self, message: Message, task_id: str) -> PermissionAnswer:
        asked, call = ask_of(message), self.calls.get((task_id, message.call_id or ""))
        if isinstance(asked, QuestionAsk):
            fields = question_request(asked, message.call_id or "")
            return question_answer(await self._connection.request("can_use_tool", **fields), asked)
        if not isinstance(asked, ApprovalAsk) or call is None:
            return PermissionAnswer(answer=Reject())
        approved = approved_call(asked.subject, call)
        shown = shown_subject(asked.subject, approved, self._options.show_call)
        response = await self._connection.request("can_use_tool", **approval_request(asked, call.id, shown))
        return approval_answer(response, asked, approved, shown, self._options.read_input)

    def _steer(self, line: UserLine) -> bool:
        """Whether a prompt is passed on immediately to the turn that is running."""
        if line.priority != "now" or self._run is None:
            return False
        text, images = words_and_images(line.message.get("content"))
        asyncio.get_running_loop().create_task(self._session.submit(QueueMessage(text=text, images=images)))
        return True

    def _tell_state(self, state: str) -> None:
        only_for_sdk = {"sdk_host_only": True} if self._options.hides_state else {}
        self._connection.send(
            {
                "type": "system",
                "subtype": "session_state_changed",
                "state": state,
                **only_for_sdk,
                "session_id": self._tally.session_id,
                "uuid": new_uuid(),
            }
        )

    def _replay(self, prompt: UserLine) -> None:
        self._connection.send(
            {
                "type": "user",
                "message": prompt.message,
                "parent_tool_use_id": None,
                "isReplay": True,
                "session_id": self._tally.session_id,
                "uuid": prompt.uuid,
            }
        )


class TurnPrinter:
    """Prints one turn. Its result covers this turn only, except that cost and models are running totals."""

    def __init__(
        self, inner: StreamJsonPrinter, tally: Tally, calls: Calls, mirror: TranscriptMirror | None = None
    ) -> None:
        self._inner = inner
        self._calls = calls
        self._mirror = mirror
        self._usage, self._turns, self._denied = tally.usage, tally.num_turns, len(tally.denials)
        self._api_ms = tally.duration_api_ms
        self._started = time.monotonic()

    @property
    def handlers(self) -> Handlers:
        handlers = dict(self._inner.handlers)
        print_reply, print_results = handlers[TurnReply], handlers[TurnResults]

        def reply(event: TurnReply) -> None:
            self._calls.update({(event.task_id, block.id): block for block in event.reply.tool_uses})
            print_reply(event)
            if self._mirror is not None and self._inner.caller_of(event.task_id) is None:
                self._mirror.reply(event.reply)

        def results(event: TurnResults) -> None:
            print_results(event)
            if self._mirror is not None and self._inner.caller_of(event.task_id) is None:
                self._mirror.results(event.results)

        return {**handlers, TurnReply: reply, TurnResults: results}

    def finish(self, result: Result) -> None:
        self._inner.finish(
            msgspec.structs.replace(
                result,
                terminal_reason=CLAUDE_REASONS.get(result.terminal_reason, result.terminal_reason),
                usage=result.usage - self._usage,
                num_turns=result.num_turns - self._turns,
                permission_denials=result.permission_denials[self._denied :],
                duration_ms=round((time.monotonic() - self._started) * 1000),
                duration_api_ms=result.duration_api_ms - self._api_ms,
            )
        )
