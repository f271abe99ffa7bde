"""One session in an editor: its prompts, its updates, its questions."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Final

import msgspec

from robota.clients.acp.asks import (
    CHOOSES_PARTS,
    PermissionOption,
    approval_choices,
    call_of_approval,
    call_of_plan,
    chosen,
    form_answer,
    form_of,
    parts_answer,
    parts_form,
    plan_choices,
)
from robota.clients.acp.connection import INTERNAL_ERROR, INVALID_PARAMS, AcpConnection, RpcError
from robota.clients.acp.content import ContentBlock, PromptWords, prompt_in
from robota.clients.acp.event_updates import EventUpdates, plan_of
from robota.clients.acp.options import CATEGORIES, MODEL, ConfigOption, option_of
from robota.clients.acp.replay import replayed
from robota.clients.acp.terminals import EditorTerminals, TerminalOutput
from robota.clients.acp.turn import END_TURN, Turn
from robota.clients.acp.updates import (
    AvailableCommand,
    CallAnnounced,
    CallProgress,
    CommandInput,
    CommandsShown,
    KnownUpdate,
    OptionsShown,
    announced,
    said,
)
from robota.clients.render.command_text import command_text
from robota.clients.view.model import OpenAsk, ViewModel
from robota.clients.view.reduce import reduce
from robota.protocol.asks.answer import Answer, Approve, Reject, Say
from robota.protocol.asks.ask import ApprovalAsk, PlanAsk, QuestionAsk
from robota.protocol.calls import PastCall
from robota.protocol.commands import (
    AskResponse,
    CancelTask,
    ListSlashCommands,
    NewTask,
    OlderRowsRequest,
    Refused,
    RunSlashCommand,
    SetPermissionMode,
    TerminalOperation,
)
from robota.protocol.conversation import ToolUseBlock
from robota.protocol.events import (
    Event,
    MessageCreated,
    MessageUpdated,
    OlderRows,
    SessionState,
    State,
    TaskEnded,
    TurnReply,
)
from robota.protocol.message import Message
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.port import SessionWindow
from robota.protocol.slash_commands import (
    CommandChoice,
    CommandList,
    CommandOutcome,
    CommandStarted,
    SessionWanted,
    SlashCommandInfo,
    typed_command,
)

ROWS_PER_PAGE: Final = 1_000
ELSEWHERE: Final = "Use the editor to start or to open another session."

# Opens the session again with other settings.
Reopen = Callable[[SessionWanted], Awaitable[SessionWindow]]


class EditorSession:
    """Follows one session for the editor until it is left."""

    def __init__(
        self,
        window: SessionWindow,
        connection: AcpConnection,
        reopen: Reopen,
        *,
        asks_forms: bool,
        open_output: Callable[[], TerminalOutput] | None = None,
    ) -> None:
        """With `open_output`, terminals of the editor show what commands print."""
        self._window = window
        self._connection = connection
        self._reopen = reopen
        self._asks_forms = asks_forms
        self._open_output = open_output
        self._view = ViewModel()
        self._updates = EventUpdates(window.hello.cwd, self._terminals(), self._show)
        self._following: asyncio.Task[None] | None = None
        self._begun = asyncio.Event()
        self._asking: dict[int, asyncio.Task[None]] = {}
        self._calls: dict[tuple[str, str], ToolUseBlock] = {}  # by task and id: each conversation has ids of its own
        self._asked_by: dict[int, str] = {}  # the tasks that ask, by the ask
        self._turn: Turn | None = None
        self._one_turn = asyncio.Lock()
        self._options: dict[str, ConfigOption] = {}

    @property
    def id(self) -> str:
        return self._window.hello.session_id

    @property
    def state(self) -> SessionState:
        """The state of the session without its rows."""
        assert self._view.session is not None, "the session is followed"
        return self._view.session

    async def begin(self) -> None:
        """Follow the session; returns when its state is known."""
        self._begun.clear()
        self._following = asyncio.create_task(self._follow())
        begun = asyncio.create_task(self._begun.wait())
        await asyncio.wait({self._following, begun}, return_when=asyncio.FIRST_COMPLETED)
        begun.cancel()
        if not self._begun.is_set():
            raise RpcError(INTERNAL_ERROR, f"The session {self.id} has ended.")

    async def leave(self) -> None:
        """Follow the session no more. Its questions stay open."""
        for task in (self._following, *self._asking.values()):
            if task is not None:
                task.cancel()
        self._asking.clear()
        if self._turn is not None:
            self._turn.is_cancelled = True
            self._turn.end(END_TURN)
        await self._window.leave()

    async def replay(self) -> None:
        """Show the editor the whole conversation so far."""
        pages = await self._older_pages()
        newest = (tuple(self._view.rows), self._view.past_calls)
        for number, (rows, calls) in enumerate((*pages, newest)):
            for update in replayed(rows, calls, self._window.hello.cwd, is_start=number == 0):
                self._show(update)
        if self.state.todos:
            self._show(plan_of(self.state.todos))

    async def prompt(self, blocks: tuple[ContentBlock, ...]) -> str:
        """Run a prompt; returns the stop reason. One that is still running is cancelled first."""
        words = prompt_in(blocks, self._window.hello.cwd)
        if not words.text and not words.images:
            raise RpcError(INVALID_PARAMS, "The prompt is empty. Nothing was sent to the model.")
        if self._turn is not None:
            self.cancel()
        async with self._one_turn:
            last = self._view.rows.last()
            turn = self._turn = Turn(None if last is None else last.ts)
            try:
                if typed_command(words.text) is not None and not words.images:
                    await self._run_command(words.text, turn)
                else:
                    await self._submit(words)
                if turn.is_cancelled:
                    await self._stop()  # it was cancelled before there was anything to stop
                return await turn.ended
            finally:
                self._turn = None

    def cancel(self) -> None:
        """Stop what is running. Its turn ends as cancelled."""
        if self._turn is None:
            return
        self._turn.is_cancelled = True
        for asking in self._asking.values():
            asking.cancel()
        self._asking.clear()
        asyncio.get_running_loop().create_task(self._stop())

    async def _stop(self) -> None:
        receipt = await self._window.session.submit(CancelTask())
        if isinstance(receipt, Refused) and self._turn is not None:
            self._turn.end(END_TURN)  # there was nothing to stop

    async def set_mode(self, mode: str) -> None:
        """Switch the permission mode. Raises `RpcError`."""
        if mode not in set(PermissionMode):
            raise RpcError(
                INVALID_PARAMS, f"There is no permission mode {mode!r}; known are {', '.join(PermissionMode)}."
            )
        receipt = await self._window.session.submit(SetPermissionMode(permission_mode=PermissionMode(mode)))
        if isinstance(receipt, Refused):
            raise RpcError(INTERNAL_ERROR, receipt.message)

    async def set_option(self, option_id: str, value: str) -> None:
        """Set an option. Raises `RpcError`."""
        if option_id not in CATEGORIES or any(map(str.isspace, value)):
            raise RpcError(INVALID_PARAMS, f"There is no option {option_id!r} with the value {value!r}.")
        receipt = await self._window.session.submit(RunSlashCommand(line=f"/{option_id} {value}"))
        if isinstance(receipt, Refused):
            raise RpcError(INTERNAL_ERROR, receipt.message)
        if isinstance(receipt.outcome, SessionWanted):
            await self._switch(receipt.outcome)

    async def options(self, *, asks_provider: bool = True) -> tuple[ConfigOption, ...]:
        """All options. Without `asks_provider`, the models are those that are known without a request to it."""
        for option_id in CATEGORIES:
            if option_id == MODEL and not asks_provider:
                choice = CommandChoice(title="", options=())
            else:
                receipt = await self._window.session.submit(RunSlashCommand(line=f"/{option_id}"))
                if isinstance(receipt, Refused) or not isinstance(receipt.outcome, CommandChoice):
                    continue
                choice = receipt.outcome
            option = option_of(option_id, choice, self.state.model if option_id == MODEL else None)
            if option is not None:
                self._options[option_id] = option
        return tuple(self._options.values())

    async def introduce(self) -> None:
        """Tell the editor what can be typed and set. Editors ignore this before they know the session."""
        receipt = await self._window.session.submit(ListSlashCommands())
        if not isinstance(receipt, Refused) and isinstance(receipt.outcome, CommandList):
            commands = tuple(map(_available, receipt.outcome.commands))
            self._show(CommandsShown(available_commands=commands))
        self._show(OptionsShown(config_options=await self.options()))

    async def _follow(self) -> None:
        events = self._window.session.events()
        try:
            async for event in events:
                self._take(event)
        finally:
            if self._turn is not None:
                self._turn.end(END_TURN)
            if isinstance(events, AsyncGenerator):
                await events.aclose()

    def _take(self, event: Event) -> None:
        self._view = reduce(self._view, event)
        for update in self._updates.updates(event):
            self._show(update)
        match event:
            case State():
                self._begun.set()
            case TurnReply(reply=reply):
                self._calls.update({(event.task_id, each.id): each for each in reply.tool_uses})
                if self._turn is not None and event.task_id == self.state.current_task_id:
                    self._turn.note_reply(reply.stop_reason)
            case MessageCreated(message=row) | MessageUpdated(message=row) if row.type == "ask":
                self._asked_by[row.ts] = event.task_id
            case TaskEnded() if self._turn is not None and event.task_id == self.state.current_task_id:
                self._turn.end(END_TURN)
            case _:
                pass
        self._ask_what_is_open()
        if self._turn is not None and (told := self._turn.end_at(self._view)):
            self._show(said(told))

    def _ask_what_is_open(self) -> None:
        open_asks = {ask.message.ts: ask for ask in self._view.open_asks}
        for ts in [ts for ts in self._asking if ts not in open_asks]:
            self._asking.pop(ts).cancel()  # somebody else has answered
        for ts, ask in open_asks.items():
            is_question = isinstance(ask.asked, ApprovalAsk | QuestionAsk) and ask.message.partial is not True
            is_stopping = self._turn is not None and self._turn.is_cancelled
            if is_question and ts not in self._asking and not is_stopping:
                self._asking[ts] = asyncio.create_task(self._ask(ask))

    async def _ask(self, ask: OpenAsk) -> None:
        try:
            answer = await self._answer_to(ask.asked, ask.message)
        except RpcError:
            return  # the question stays open for another window, or for when the session is resumed
        if answer is not None:
            await self._window.session.submit(AskResponse(answer=answer, ts=ask.message.ts))

    async def _answer_to(self, asked: Any, row: Message) -> Answer | None:
        match asked:
            case ApprovalAsk():
                call = self._call_to_approve(row, asked)
                choices = approval_choices(asked, chooses_parts=self._asks_forms and asked.choosable_hunks > 1)
            case PlanAsk():
                call, choices = call_of_plan(row, asked), plan_choices(asked)
            case QuestionAsk() if self._asks_forms:
                form = {"mode": "form", "message": asked.question, "requestedSchema": form_of(asked)}
                answer = form_answer(await self._connection.request("elicitation/create", self._own(form)))
                if answer is None:
                    self._end_with(asked)
                return answer
            case QuestionAsk():
                self._end_with(asked)
                return None
            case _:
                return None
        # Some editors show only what they know of a call before they are asked; a plan is no call otherwise.
        is_plan = isinstance(asked, PlanAsk)
        self._show(announced(call) if is_plan else call)
        answer = chosen(choices, await self._permission(call, [each.option for each in choices]))
        if answer is CHOOSES_PARTS:
            answer = await self._chosen_parts(call, asked)
        if not isinstance(answer, Reject):
            self._show(CallProgress(tool_call_id=call.tool_call_id, status="completed" if is_plan else "in_progress"))
        if self._view.is_asked_beside(row.ts):
            status = "completed" if isinstance(answer, Approve) else "failed"
            self._show(CallProgress(tool_call_id=call.tool_call_id, status=status))
        return answer

    async def _chosen_parts(self, call: CallProgress, asked: ApprovalAsk) -> Answer:
        form = {"mode": "form", "message": call.title or "", "requestedSchema": parts_form(asked)}
        return parts_answer(await self._connection.request("elicitation/create", self._own(form)), asked)

    def _call_to_approve(self, row: Message, asked: ApprovalAsk) -> CallProgress:
        task = self._asked_by.get(row.ts, self.state.current_task_id or "")
        written = self._calls.get((task, row.call_id or ""))
        call = call_of_approval(row, asked, written, self._window.hello.cwd)
        if not self._view.is_asked_beside(row.ts):
            return call
        # The calls of agents are not shown otherwise, and their ids may be those of other calls.
        own_id = f"{task}:{row.call_id or row.ts}"
        self._show(CallAnnounced(tool_call_id=own_id, title=call.title or "", kind=call.kind or "other"))
        return msgspec.structs.replace(call, tool_call_id=own_id)

    def _terminals(self) -> EditorTerminals | None:
        if self._open_output is None:
            return None
        return EditorTerminals(self._connection, self.id, self._open_output, self._stop_command)

    def _stop_command(self) -> None:
        stopping = self._window.session.submit(TerminalOperation(terminal_operation="abort"))
        asyncio.get_running_loop().create_task(stopping)

    def _end_with(self, asked: QuestionAsk) -> None:
        if self._turn is not None:
            self._show(said(self._turn.end_with_question(asked)))

    async def _permission(self, call: Any, options: list[PermissionOption]) -> Any:
        params = self._own({"toolCall": _without_kind(call), "options": options})
        return await self._connection.request("session/request_permission", params)

    async def _submit(self, words: PromptWords) -> None:
        self._calls.clear()
        self._asked_by.clear()
        self._updates.expect_prompt(words.text)
        pending = self._view.agent.current_ask
        command: NewTask | AskResponse = NewTask(text=words.text, images=words.images)
        if pending is not None:
            command = AskResponse(answer=Say(text=words.text, images=words.images))
        receipt = await self._window.session.submit(command)
        if isinstance(receipt, Refused):
            raise RpcError(INTERNAL_ERROR, receipt.message)

    async def _run_command(self, line: str, turn: Turn) -> None:
        self._updates.expect_prompt(line)
        receipt = await self._window.session.submit(RunSlashCommand(line=line))
        if isinstance(receipt, Refused):
            self._show(said(receipt.message))
            turn.end(END_TURN)
        elif not isinstance(receipt.outcome, CommandStarted):
            self._show(said(await self._text_of(receipt.outcome)))
            turn.end(END_TURN)

    async def _text_of(self, outcome: CommandOutcome | None) -> str:
        if not isinstance(outcome, SessionWanted):
            return "" if outcome is None else command_text(outcome)
        if outcome.session_id != self.id or outcome.sets_up is not None or outcome.decides_trust:
            return f"{command_text(outcome)}\n\n{ELSEWHERE}"
        await self._switch(outcome)
        return f"The session goes on with {self.state.model}."

    async def _switch(self, wanted: SessionWanted) -> None:
        """Continue with other settings."""
        if self._following is not None:
            self._following.cancel()
        self._window = await self._reopen(wanted)
        self._updates = EventUpdates(self._window.hello.cwd, self._terminals(), self._show)
        await self.begin()

    async def _older_pages(self) -> list[tuple[tuple[Message, ...], tuple[PastCall, ...]]]:
        """The rows before those of the state, page by page, the oldest first."""
        pages: list[tuple[tuple[Message, ...], tuple[PastCall, ...]]] = []
        rest, oldest = self.state.older_rows, next(iter(self._view.rows), None)
        while rest and oldest is not None:
            page = await self._page_before(oldest.ts)
            if not page.messages:
                break
            pages.insert(0, (page.messages, page.calls))
            rest, oldest = page.older_rows, page.messages[0]
        return pages

    async def _page_before(self, ts: int) -> OlderRows:
        events = self._window.session.events()
        request = OlderRowsRequest(before_ts=ts, limit=ROWS_PER_PAGE, request_id=f"before-{ts}")
        try:
            await anext(events)
            receipt = await self._window.session.submit(request)
            if isinstance(receipt, Refused):
                raise RpcError(INTERNAL_ERROR, receipt.message)
            async for event in events:
                if isinstance(event, OlderRows) and event.request_id == request.request_id:
                    return event
        finally:
            if isinstance(events, AsyncGenerator):
                await events.aclose()
        raise RpcError(INTERNAL_ERROR, f"The session {self.id} has ended.")

    def _show(self, update: KnownUpdate) -> None:
        self._connection.notify("session/update", self._own({"update": update}))

    def _own(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"sessionId": self.id, **params}


def _without_kind(call: Any) -> dict[str, Any]:
    """A call in a request for permission: there it is no update, so it does not say which one it is."""
    fields: dict[str, Any] = msgspec.to_builtins(call)
    del fields["sessionUpdate"]
    return fields


def _available(info: SlashCommandInfo) -> AvailableCommand:
    hint = info.argument_hint or "|".join(each.name for each in info.subcommands) or "…"
    return AvailableCommand(
        name=info.name,
        description=info.description,
        input=CommandInput(hint=hint) if info.takes_arguments else None,
    )
