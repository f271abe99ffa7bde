"""The task of an agent that works in a process of its own, as the task that started it sees it."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import nullcontext, suppress
from typing import Final

import msgspec

from robota.config.errors import ConfigError
from robota.contracts.agent import AgentPlace
from robota.engine.budgets.account import Exhausted
from robota.engine.budgets.session_budget import refusal
from robota.engine.budgets.task_budget import BudgetLease
from robota.engine.runtime.agent_service import AgentAddress, AgentService, ProcessWanted
from robota.engine.runtime.rights import definitions_of, denials_of, depth_of, path_of
from robota.engine.runtime.task_runtime import TaskRuntime
from robota.engine.runtime.user_input import UserInput
from robota.engine.task.agents.forwarded_asks import ForwardedAsks
from robota.engine.task.agents.mirrored_events import MirroredEvents
from robota.engine.task.steps import Ended, Outcome
from robota.engine.task.subtasks import Subtasks
from robota.log.kinds.agents import AgentWorktree
from robota.protocol.asks.answer import Say
from robota.protocol.asks.ask import CompletionAsk, ResumeAsk
from robota.protocol.commands import (
    AskResponse,
    CancelTask,
    Command,
    NewTask,
    OlderRowsRequest,
    QueueMessage,
    Refused,
    SetPermissionMode,
)
from robota.protocol.events import (
    Event,
    MessageCreated,
    MessageUpdated,
    Notice,
    OlderRows,
    RetryScheduled,
    State,
    TaskCompleted,
    TaskTokenUsageUpdated,
    ToolEnd,
    ToolStart,
    TurnReply,
)
from robota.protocol.message import Message
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.port import SessionPort

# How long a process has to stop what it does, before it is ended.
STOPPING_S: Final = 2.0
CRASHED: Final = (
    "The process of the agent ended unexpectedly. What it did until then is in its log, and with another message it "
    "goes on from there."
)
NOT_COMPLETE: Final = "It stopped before it was complete."


class ProcessTask:
    """Works on each turn in a new process, which continues the session of the agent.

    It is a task like any other for whoever started it: its rows, deltas and calls are shown as they come, what it asks
    is asked in this session, and messages reach it while it works.
    """

    def __init__(
        self,
        runtime: TaskRuntime,
        service: AgentService,
        address: AgentAddress,
        *,
        wants_worktree: bool = False,
        is_resumed: bool = False,
        worktree: AgentWorktree | None = None,
    ) -> None:
        """With `is_resumed`, an earlier process has worked on it."""
        self.runtime = runtime
        self.subtasks: Subtasks | None = None  # they are in its process
        self.worktree = worktree
        self.left = ""  # what became of its worktree
        self.pid: int | None = None
        self.replies: list[str] = []  # of the present turn
        self.on_change: Callable[[], None] = lambda: None  # called when it has a process, and perhaps a worktree
        self._service = service
        self._address = address
        self._wants_worktree = wants_worktree
        self._is_resumed = is_resumed
        self._prompt = ""
        self._port: SessionPort | None = None
        self._sending: set[asyncio.Task[object]] = set()
        self._lease: BudgetLease | None = None  # what the process may spend in this turn
        self._is_pausing = False
        self._open_calls: set[str] = set()

    @property
    def waits(self) -> bool:
        """Whether it waits for something else than its model: a call, or the next attempt of a request."""
        return self._is_pausing or bool(self._open_calls)

    def begin(self, first: UserInput) -> None:
        """Take its first prompt."""
        self._prompt = first.text

    def begin_turn(self, user_input: UserInput) -> None:
        """Take the prompt of another turn."""
        self._prompt = user_input.text

    async def begun(self, kind: str) -> None:
        """Its process runs the hooks, as an agent of that type."""

    def set_permission_mode(self, mode: PermissionMode) -> None:
        """The session has another permission mode now, so the process has, too."""
        self.runtime.permission_mode = mode
        self._send(SetPermissionMode(permission_mode=mode))

    async def work(self) -> Ended:
        """Work on one turn."""
        runtime = self.runtime
        self.replies, self.left = [], ""
        try:
            with nullcontext() if runtime.budget is None else runtime.budget.lease() as self._lease:
                async with self._service.process(self._wanted()) as process:
                    self.pid, self.worktree, self._is_resumed = process.pid, process.worktree, True
                    self.on_change()
                    ended = await self._turn(process.port)
        except ConfigError as error:
            return Ended(Outcome.FAILED, str(error))
        except Exhausted as error:
            return Ended(Outcome.GIVEN_UP, refusal(error))
        finally:
            self.pid = self._port = None
            runtime.queue.takers.pop(runtime.queue_id, None)
            self._is_pausing = False
            self._open_calls.clear()
        self.left, self.worktree = process.left, process.worktree
        return ended

    def _wanted(self) -> ProcessWanted:
        runtime, parent = self.runtime, self.runtime.parent
        assert parent is not None
        options = runtime.options
        launch = msgspec.structs.replace(
            options.launch,
            provider=options.provider_name if options.launch.profile is None else options.launch.provider,
            model=options.model,
            permission_mode=runtime.permission_mode,
            mode=runtime.mode,
            agent=None,
            # Both are counted here, over all agents.
            max_turns=None,
            max_cost=None,
            max_tokens_total=None,
            name=options.name,
        )
        return ProcessWanted(
            launch=launch,
            place=self._place(parent),
            address=self._address,
            is_resumed=self._is_resumed,
            wants_worktree=self._wants_worktree,
            worktree=self.worktree,
        )

    def _place(self, parent: TaskRuntime) -> AgentPlace:
        own: AgentPlace | None = parent.options.launch.place
        identity = self.runtime.agent
        assert identity is not None
        modes = dict.fromkeys((*(each.mode for each in path_of(parent)), *(() if own is None else own.modes)))
        return AgentPlace(
            identity=msgspec.structs.replace(identity, depth=depth_of(self.runtime)),
            session_id=parent.options.session_id,
            above=definitions_of(parent),
            modes=tuple(modes),
            denied=denials_of(parent),
            max_turns=self.runtime.options.own_requests,
            budget=None if self._lease is None else self._lease.limit,
        )

    async def _turn(self, port: SessionPort) -> Ended:
        self._port = port
        turn = _Turn(self, port)
        self._is_pausing = False
        try:
            ended = await turn.until_end(self._prompt)
        except asyncio.CancelledError:
            await _stopped(port)
            raise
        finally:
            await turn.close()
        if ended is None and self._lease is not None:
            self._lease.is_lost = True
        return ended or Ended(Outcome.FAILED, CRASHED)

    def queue_from_here(self, on_sent: "Callable[[Awaitable[object]], None]") -> None:
        """From now on messages go to the process at once; those that wait go first."""
        runtime = self.runtime

        def send(message: QueueMessage) -> None:
            assert self._port is not None
            on_sent(self._port.submit(msgspec.structs.replace(message, task_id=None)))

        while (queued := runtime.queue.take(runtime.queue_id, is_turn_over=True)) is not None:
            send(QueueMessage(text=queued.text, images=queued.images, after_turn=queued.after_turn))
        runtime.queue.takers[runtime.queue_id] = send

    def note(self, event: Event) -> None:
        """Keep account of what the events tell: requests, usage, open calls, pauses."""
        own = self.runtime.task_id
        match event:
            case TaskTokenUsageUpdated(task_id=task_id, token_usage=usage):
                if self._lease is not None:
                    self._lease.note(usage.budget)
                if task_id == own:
                    self.runtime.meter.usage, self.runtime.meter.cost = event.usage, usage.total_cost
            case TurnReply(task_id=task_id, reply=reply) if task_id == own:
                self._is_pausing = False
                self.runtime.meter.requests += 1
                self.runtime.meter.spent.requests += 1
                self.replies.append(reply.text)
            case RetryScheduled(task_id=task_id) if task_id == own:
                self._is_pausing = True
            case ToolStart(task_id=task_id, call_id=call_id) if task_id == own:
                self._open_calls.add(call_id)
            case ToolEnd(task_id=task_id, call_id=call_id) if task_id == own:
                self._open_calls.discard(call_id)

    def _send(self, command: Command) -> None:
        if self._port is not None:
            sending: asyncio.Task[object] = asyncio.ensure_future(self._port.submit(command))
            self._sending.add(sending)
            sending.add_done_callback(self._sending.discard)


class _Turn:
    """One turn in a process: from its prompt to the ask with which the session there is done."""

    def __init__(self, task: ProcessTask, port: SessionPort) -> None:
        self._task = task
        self._port = port
        runtime = task.runtime
        self._mirror = MirroredEvents(runtime.task_id, runtime.bus, runtime.journal)
        self._asks = ForwardedAsks(runtime, port)
        self._sent: list[asyncio.Future[object]] = []
        self._has_begun = False
        self._result = ""
        self._problem = ""
        self._done: Message | None = None  # the ask with which the turn has ended, unless a message continues it

    async def until_end(self, prompt: str) -> Ended | None:
        """None if the process has gone before."""
        async for event in self._port.events():
            if isinstance(event, State):
                refused = None if self._has_begun else await self._begin(event, prompt)
                if refused is not None:
                    return Ended(Outcome.FAILED, refused.message)
                continue
            self._take(event)
            if isinstance(event, OlderRows) and self._done is not None:
                return self._ended(self._done)
        return None

    async def close(self) -> None:
        """Give up what is under way."""
        await self._asks.close()
        for sent in self._sent:
            sent.cancel()

    async def _begin(self, event: State, prompt: str) -> Refused | None:
        """Send the prompt to a new session, or as the answer of one that waits for it."""
        self._has_begun = True
        waiting = next((row for row in reversed(event.state.cline_messages) if row.type == "ask"), None)
        if event.state.current_task_id is None:
            receipt = await self._port.submit(NewTask(text=prompt, task_id=self._task.runtime.task_id))
        else:
            ts = None if waiting is None else waiting.ts
            receipt = await self._port.submit(AskResponse(answer=Say(text=prompt), ts=ts))
        self._task.queue_from_here(self._on_sent)
        return receipt if isinstance(receipt, Refused) else None

    def _on_sent(self, sending: Awaitable[object]) -> None:
        self._sent.append(asyncio.ensure_future(sending))

    def _take(self, event: Event) -> None:
        self._task.note(event)
        row = self._mirror.show(event)
        if row is not None:
            self._task.runtime.rows.take(row)
            self._problem = row.text or "" if row.say == "error" else self._problem
        match event:
            case TaskCompleted(task_id=task_id, result=result) if task_id == self._task.runtime.task_id:
                self._result = result
            case MessageCreated() | MessageUpdated() if event.message.type == "ask":
                self._take_ask(event)
            case Notice(level="error", text=text):
                self._problem = text
            case _:
                pass

    def _take_ask(self, event: MessageCreated | MessageUpdated) -> None:
        row, is_own = event.message, event.task_id == self._task.runtime.task_id
        if is_own and isinstance(row.asked, CompletionAsk | ResumeAsk):
            self._done = None if row.is_answered else row
            if self._done is not None:
                # What has been sent before it may continue the turn. Once this is answered, that is known.
                self._on_sent(self._port.submit(OlderRowsRequest(limit=0)))
            return
        self._asks.take(event.task_id, row)

    def _ended(self, done: Message) -> Ended:
        if isinstance(done.asked, CompletionAsk):
            return Ended(Outcome.COMPLETED, self._result)
        return Ended(Outcome.GIVEN_UP, self._problem or NOT_COMPLETE)


async def _stopped(port: SessionPort) -> None:
    """Interrupt the turn, so that its records are complete; the end of the process would do, too."""
    with suppress(TimeoutError):
        async with asyncio.timeout(STOPPING_S):
            await port.submit(CancelTask())
