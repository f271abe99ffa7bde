"""Everything that belongs to one task and is shared by the parts that run it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from math import ceil
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import msgspec

from robota.contracts.agent import AgentIdentity
from robota.contracts.hook import EMPTY_HOOK_RESULT, HookContext, HookEvent, HookResult
from robota.engine.record.history import History
from robota.engine.record.journal import EventBus, Journal
from robota.engine.record.rows import Rows
from robota.engine.runtime.options import Options
from robota.engine.runtime.services import SessionServices
from robota.engine.runtime.user_input import (
    AskedCauses,
    AskTable,
    MessageQueue,
    News,
    ResumedAnswer,
    is_answered_by_queue,
)
from robota.log.kinds.calls import AnswerRecord
from robota.log.kinds.session import TaskRecord
from robota.protocol.asks.answer import Answer, Reject, Say
from robota.protocol.asks.ask import (
    ApprovalAsk,
    ApprovalVerdict,
    Ask,
    CompletionAsk,
    FailureAsk,
    QuestionAsk,
)
from robota.protocol.asks.kinds import IDLE_ASKS, RESUMABLE_ASKS
from robota.protocol.asks.seed import SeedAsk, ask_of, seed_ask, seed_form
from robota.protocol.codec import encode
from robota.protocol.commands import CondenseContext
from robota.protocol.conversation import Usage
from robota.protocol.events import (
    ContextUpdate,
    Event,
    Notice,
    TaskActive,
    TaskAskResponded,
    TaskIdle,
    TaskInteractive,
    TaskModeSwitched,
    TaskResumable,
    TaskTokenUsageUpdated,
    TokenUsage,
)
from robota.protocol.ledger import LedgerEntry
from robota.protocol.message import Message
from robota.protocol.permission_mode import PermissionMode
from robota.providers.chunks import ToolSpec

# How many recent sizes of the conversation the growth rate is computed from.
SIZES_KEPT: Final = 10
NOBODY_ANSWERS: Final = (
    "No user is present to answer. Continue without an answer, and say in your report what was open."
)
# The response that other clients see for an ask that a condense command interrupted.
CONDENSED: Final = "condenseTaskContextRequest"
# Likewise for one that ended because an agent had news.
CONTINUED: Final = "agentNews"
ASKED_ANEW: Final = (
    "The action has changed since it was shown for approval, so the answer was discarded and nothing was done. "
    "Approval is requested again."
)

if TYPE_CHECKING:
    from robota.engine.budgets.task_budget import TaskBudget
    from robota.policy.review import Review


class Spent:
    """How many requests a task and its subtasks have made together since the user last confirmed the limit."""

    def __init__(self) -> None:
        self.requests = 0


class TurnCounts:
    """The mistakes of a task in a row, and its requests in the present turn of the user."""

    def __init__(self) -> None:
        self.mistakes = 0
        self.requests = 0


def is_used_up(limit: int | None, used: int) -> bool:
    """Whether a limit is reached."""
    return limit is not None and used >= limit


class Meter:
    """Tokens, cost and tool calls of one task. `context_tokens` is the size of the conversation, perhaps estimated.

    A subtask shares `spent` with its parent. A cost is None from the first request on whose price is unknown.
    """

    def __init__(self, condense_at: int | None = None) -> None:
        """`condense_at` is the number of tokens at which the conversation is condensed automatically."""
        self.spent = Spent()
        self.usage = Usage()
        self.cost: float | None = 0.0
        self.saved: float | None = 0.0  # by the provider's cache
        self.condense_at = condense_at
        self._sizes: list[int] = []
        self.requests = 0
        self.context_tokens = 0
        self.is_estimated = False
        self.estimated_requests = 0
        self.tools: dict[str, dict[str, int]] = {}

    def request(self, usage: Usage, cost: float | None, saved: float | None) -> None:
        self.side_request(usage, cost, saved)
        if usage.context_tokens:
            self._grown(usage.context_tokens, is_estimated=False)

    def uncounted(self, context_tokens: int) -> None:
        """Take over an estimate of the size, because the provider did not count."""
        self._grown(context_tokens, is_estimated=True)

    def _grown(self, context_tokens: int, *, is_estimated: bool) -> None:
        self.context_tokens, self.is_estimated = context_tokens, is_estimated
        self._sizes = [*self._sizes[1 - SIZES_KEPT :], context_tokens]

    def reduced(self, context_tokens: int) -> None:
        """Set the size after a reduction, and forget the sizes before it: they say nothing about growth."""
        self.context_tokens = context_tokens
        self._sizes.clear()

    @property
    def requests_to_condensing(self) -> int | None:
        """About how many requests remain before condensing; None if that is unknown."""
        return requests_until(self.condense_at, self._sizes)

    def side_request(self, usage: Usage, cost: float | None, saved: float | None) -> None:
        """Count a request outside the conversation, such as one for a summary."""
        self.requests += 1
        self.usage = self.usage + usage
        self.cost = _sum(self.cost, cost)
        is_cached = usage.cache_read_input_tokens or usage.cache_creation_input_tokens
        self.saved = _sum(self.saved, saved if is_cached else 0.0)

    def tool(self, name: str, *, failed: bool) -> None:
        counts = self.tools.setdefault(name, {"attempts": 0, "failures": 0})
        counts["attempts"] += 1
        counts["failures"] += failed

    @property
    def totals(self) -> TokenUsage:
        return TokenUsage(
            total_tokens_in=self.usage.total_in,
            total_tokens_out=self.usage.output_tokens,
            total_cache_writes=self.usage.cache_creation_input_tokens,
            total_cache_reads=self.usage.cache_read_input_tokens,
            total_cost=self.cost,
            context_tokens=self.context_tokens,
            estimated_requests=self.estimated_requests,
        )


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def requests_until(limit: int | None, sizes: Sequence[int]) -> int | None:
    """How many requests it takes to grow to `limit` at the average rate of `sizes`, whose last entry is the present.

    None if there is no limit, or nothing grew.
    """
    if limit is None or len(sizes) < 2:
        return None
    growth = (sizes[-1] - sizes[0]) / (len(sizes) - 1)
    return max(0, ceil((limit - sizes[-1]) / growth)) if growth > 0 else None


class TaskHead(msgspec.Struct, frozen=True, kw_only=True):
    """What goes with every request of a task: the system prompt, the tools, and the state that the prompt describes."""

    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    state: Mapping[str, str] = {}


class TaskRuntime(msgspec.Struct, kw_only=True):
    """What the parts of a task share, and the one way to ask the user something."""

    options: Options
    services: SessionServices
    bus: EventBus
    journal: Journal
    asks: AskTable
    queue: MessageQueue
    rows: Rows
    history: History
    mode: str
    permission_mode: PermissionMode
    grants: list[str] = msgspec.field(default_factory=list)  # of the whole session
    turn_grants: list[str] = msgspec.field(default_factory=list)  # until control goes back to the user
    turn_denials: list[str] = msgspec.field(default_factory=list)  # likewise
    turn_model: str | None = None  # likewise, instead of the model of the session
    ask_model: "Callable[[TaskRuntime, str, str, str | None], Awaitable[str]] | None" = None  # for hooks
    asked_causes: AskedCauses = msgspec.field(default_factory=AskedCauses)  # of the whole session
    reviews: "list[Review]" = msgspec.field(default_factory=list)  # of the whole session
    meter: Meter = msgspec.field(default_factory=Meter)
    budget: "TaskBudget | None" = None  # if anything limits what it may spend
    background: set[asyncio.Task[HookResult]] = msgspec.field(default_factory=set)
    parent_id: str | None = None  # the task that started this one
    queue_id: str | None = None  # its message queue, if it does not share that of its parent
    head: TaskHead = TaskHead()
    agent_type: str | None = None  # of a subtask
    parent: "TaskRuntime | None" = None  # of a subtask: it may do nothing that this one may not
    agent: AgentIdentity | None = None  # if it is an agent
    prompt_id: str | None = None  # the prompt that it works on
    waited_s: float = 0.0  # for answers of the user
    resumed_answers: dict[str, ResumedAnswer] = msgspec.field(
        default_factory=dict
    )  # by call, to asks of an earlier process
    typed_calls: set[str] = msgspec.field(default_factory=set)  # shell commands that the user typed

    @property
    def task_id(self) -> str:
        return self.rows.task_id

    @property
    def is_subtask(self) -> bool:
        return self.agent_type is not None

    @property
    def is_root(self) -> bool:
        """Whether no task of this process started it, so that it waits for another prompt when it is done."""
        return self.parent_id is None

    @property
    def is_alone(self) -> bool:
        """Whether it is an agent whose questions nobody can answer: it must not wait for ever."""
        return self.agent is not None and not self.options.launch.attended

    @property
    def can_change_mode(self) -> bool:
        """Whether another mode can be allowed: by a user who attends, or because everything is."""
        return self.options.launch.attended or self.permission_mode is PermissionMode.BYPASS

    @property
    def can_present_plan(self) -> bool:
        """Whether a user attends who can decide about a plan, and this is the task that they talk to."""
        return self.options.launch.attended and not self.is_subtask

    def end_turn_rules(self) -> None:
        """Drop the grants, the denials and the model of a skill, which were for the prompt that named it."""
        self.turn_grants.clear()
        self.turn_denials.clear()
        self.turn_model = None

    def switch_mode(self, mode: str) -> None:
        previous, self.mode = self.mode, mode
        self.journal.write(TaskRecord(task_id=self.task_id, mode=mode))
        self.bus.emit(TaskModeSwitched(task_id=self.task_id, mode=mode, previous_mode=previous))

    @property
    def background_tasks(self) -> list[dict[str, str]]:
        """The running background processes, in the form that hooks get."""
        return [
            {"id": process.id, "type": "shell", "status": "running", "command": process.command}
            for process in self.services.processes.background
            if process.ending is None
        ]

    @property
    def hook_context(self) -> HookContext:
        """The context that hooks get for this task now."""
        return HookContext(
            permission_mode=self.permission_mode,
            task_id=self.task_id,
            agent_id=None if self.agent_type is None else self.task_id,
            agent_type=self.agent_type,
            prompt_id=self.prompt_id,
            tell=lambda message: self.bus.emit(Notice(level="info", text=message)),
            ask_model=None if self.ask_model is None else partial(self.ask_model, self),
        )

    def warn(self, message: str) -> None:
        """Show a warning to the user."""
        self.bus.emit(Notice(level="warning", text=message))

    def emit_usage(self) -> None:
        """Send the usage of the task and the size of its context to clients."""
        for event in self.usage_events:
            self.bus.emit(event)

    def is_at_limit(self, counts: TurnCounts) -> bool:
        """Whether the task made too many mistakes, or has used up its requests."""
        options, spent = self.options, self.meter.spent
        return 0 < options.settings.mistake_limit <= counts.mistakes or is_used_up(
            options.launch.max_turns, spent.requests
        )

    @property
    def token_usage(self) -> TokenUsage:
        """The totals of the task, and the accounts that limit it."""
        totals = self.meter.totals
        return totals if self.budget is None else msgspec.structs.replace(totals, budget=self.budget.accounts)

    @property
    def usage_events(self) -> tuple[Event, ...]:
        """The usage of the task and the size of its context, as events."""
        meter = self.meter
        usage = TaskTokenUsageUpdated(task_id=self.task_id, token_usage=self.token_usage, usage=meter.usage)
        return usage, self.context_update(meter.context_tokens)

    def context_update(self, used: int, entries: tuple[LedgerEntry, ...] = ()) -> ContextUpdate:
        """How full the context window is with `used` tokens; `entries` are what fills it, if a client asked."""
        meter, window = self.meter, self.services.model.info.context_window
        return ContextUpdate(
            task_id=self.task_id,
            used_tokens=used,
            max_tokens=window,
            used_percentage=round(min(100.0, 100 * used / window), 2),
            is_estimated=meter.is_estimated,
            condense_at=meter.condense_at,
            requests_to_condensing=meter.requests_to_condensing,
            cached_tokens=meter.usage.cache_read_input_tokens,
            saved_cost=meter.saved,
            total_cost=meter.cost,
            entries=entries,
        )

    async def fire(self, event: HookEvent, target: str = "", **fields: Any) -> HookResult:
        """Run the hooks of an event and show their messages."""
        hooks = self.services.hooks.lifecycle
        if hooks is None:
            return EMPTY_HOOK_RESULT
        return await hooks.fire(event, target, context=self.hook_context, **fields)

    async def ask(
        self, asked: Ask, *, seed: SeedAsk | None = None, call_id: str | None = None, row: Message | None = None
    ) -> Answer:
        """Ask, and wait for the answer. `seed` is the ask in the form of the seed protocol.

        `row` is the row of the same ask if it is shown already.
        """
        resumed = self.resumed_answers.pop(call_id or "", None)
        if resumed is not None and self._is_same_ask(asked, resumed.row):
            self.settle(resumed.row, resumed.answer)
            return resumed.answer
        if resumed is not None:
            self.rows.change(resumed.row, is_answered=True)
            self.rows.say("error", ASKED_ANEW)
        answer = await self._ask(asked, seed or seed_ask(asked), call_id=call_id, row=row)
        assert not isinstance(answer, CondenseContext | News)
        return answer

    def settle(self, row: Message, answer: Answer) -> None:
        """Record the answer and send it to every client."""
        response, text = seed_form(answer)
        by = self.asks.take_giver(row.ts)
        self.journal.write(AnswerRecord(task_id=self.task_id, ts=row.ts, response=response, text=text or None, by=by))
        self._close_ask(row, response)

    def has_approval_answer(self, call_id: str) -> bool:
        """Whether the user answered the approval of this call on resuming. A no counts even if policy now allows it."""
        resumed = self.resumed_answers.get(call_id)
        return resumed is not None and resumed.is_approval

    def was_typed(self, call_id: str) -> bool:
        """Whether an attending user typed this call. True only once, so a second attempt needs approval."""
        is_typed = call_id in self.typed_calls and self.options.launch.attended
        self.typed_calls.discard(call_id)
        return is_typed

    def discard_resumed_answers(self) -> None:
        """Drop answers whose question did not come again, after the calls were made."""
        for resumed in self.resumed_answers.values():
            self.rows.change(resumed.row, is_answered=True)
        self.resumed_answers.clear()

    async def ask_or_command(self, asked: Ask) -> Answer | CondenseContext:
        """Ask; a client may send a command instead of an answer. The caller carries it out and asks again."""
        answer = await self._ask(asked, seed_ask(asked), takes_commands=True)
        assert not isinstance(answer, News)
        return answer

    async def ask_for_prompt(self) -> Answer | CondenseContext | News:
        """Wait for the next prompt, a command, or news of an agent."""
        return await self._ask(CompletionAsk(), seed_ask(CompletionAsk()), takes_commands=True)

    async def _ask(
        self,
        asked: Ask,
        seed: SeedAsk,
        *,
        call_id: str | None = None,
        row: Message | None = None,
        takes_commands: bool = False,
    ) -> Answer | CondenseContext | News:
        asked = self._signed(asked)
        row = row or self.rows.ask(
            seed.kind,
            seed.text,
            call_id=call_id,
            asked=asked,
            fault=asked.fault if isinstance(asked, FailureAsk) else None,
            verdict=asked.verdict if isinstance(asked, ApprovalAsk) else None,
        )
        self.bus.emit(self._waiting_event(seed.kind))
        self._notify(asked)
        queued = Reject(text=NOBODY_ANSWERS) if self.is_alone else self._queued_answer(asked)
        if queued is not None:
            answer: Answer | CondenseContext | News = queued
        else:
            began = monotonic()
            try:
                answer = await self.asks.wait(self.task_id, row, takes_commands=takes_commands)
            finally:
                self.waited_s += monotonic() - began
        if isinstance(answer, CondenseContext):
            self._close_ask(row, CONDENSED)
        elif isinstance(answer, News):
            self._close_ask(row, CONTINUED)
        else:
            self.settle(row, answer)
        return answer

    def _signed(self, asked: Ask) -> Ask:
        """The ask with the name of the agent that asks. The user may see several, of several agents."""
        if self.agent is None or self.parent is None:  # an agent in a process of its own is named by whoever started it
            return asked
        match asked:
            case ApprovalAsk():
                return msgspec.structs.replace(asked, title=f"{self.agent.shown_name}: {asked.title}")
            case QuestionAsk():
                return msgspec.structs.replace(asked, question=f"{self.agent.shown_name} asks: {asked.question}")
            case _:
                return asked

    def _queued_answer(self, asked: Ask) -> Say | None:
        """The queued message that answers the ask. Messages for the end of the turn answer only the completion ask."""
        if not is_answered_by_queue(asked):
            return None
        queued = self.queue.take(self.queue_id, is_turn_over=isinstance(asked, CompletionAsk))
        return None if queued is None else Say(text=queued.text, images=queued.images, is_command=queued.is_command)

    def _close_ask(self, row: Message, response: str) -> None:
        self.rows.change(row, is_answered=True)
        self.bus.emit(TaskActive(task_id=self.task_id))
        self.bus.emit(TaskAskResponded(task_id=self.task_id, ts=row.ts, response=response))

    def _is_same_ask(self, asked: Ask, row: Message) -> bool:
        """Whether `row` showed the same ask. The verdict may differ, because policy has judged the call again."""
        before = ask_of(row)
        return before is not None and self._visible_part(asked) == self._visible_part(before)

    def _visible_part(self, asked: Ask) -> bytes:
        """The visible part of an ask, with secrets masked as in the log."""
        if isinstance(asked, ApprovalAsk):
            asked = msgspec.structs.replace(asked, verdict=ApprovalVerdict())
        return self.services.redactor(encode(asked))

    def _notify(self, asked: Ask) -> None:
        """Fire the Notification hooks while the ask is open."""
        if self.services.hooks.lifecycle is None or not self.options.launch.attended:
            return
        # Imported only if there are hooks.
        from robota.engine.runtime.notification import notification_of

        fields = notification_of(asked)
        job = asyncio.create_task(self.fire(HookEvent.NOTIFICATION, fields["notification_type"], **fields))
        self.background.add(job)
        job.add_done_callback(self.background.discard)

    def _waiting_event(self, kind: str) -> Event:
        if kind in IDLE_ASKS:
            return TaskIdle(task_id=self.task_id)
        if kind in RESUMABLE_ASKS:
            return TaskResumable(task_id=self.task_id)
        return TaskInteractive(task_id=self.task_id)
