"""Everything that belongs to one task and is shared by the parts that run it."""

import asyncio
from collections.abc import Sequence
from math import ceil
from time import monotonic
from typing import Any, Final

import msgspec

from robota.contracts.hook import EMPTY_HOOK_RESULT, HookContext, HookEvent, HookResult
from robota.engine.record.history import History
from robota.engine.record.journal import EventBus, Journal
from robota.engine.record.rows import Rows
from robota.engine.runtime.options import Options
from robota.engine.runtime.person_input import AskTable, GivenAnswer, MessageQueue, is_answered_by_queue
from robota.engine.runtime.services import SessionServices
from robota.log.kinds.calls import AnswerRecord
from robota.log.kinds.session import TaskRecord
from robota.protocol.asks.answer import Answer, Say
from robota.protocol.asks.ask import (
    ApprovalAsk,
    ApprovalVerdict,
    Ask,
    CompletionAsk,
    FailureAsk,
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

# From so many sizes of the conversation it is told how fast it grows.
SIZES_KEPT: Final = 10
# What other clients are told became of an ask that a command interrupted.
CONDENSED: Final = "condenseTaskContextRequest"
ASKED_ANEW: Final = (
    "What would be done now is not what was asked about before, so the answer was not used and nothing was done. "
    "It is asked again."
)


class Spent:
    """What a task and its subtasks together used since the person last said that they may."""

    def __init__(self) -> None:
        self.requests = 0
        self.cost: float | None = 0.0


class Meter:
    """Tokens, cost and tool calls of one task. `context_tokens` is what the conversation fills of the window.

    A subtask adds to what its parent has `spent`. A cost is None from the first request on whose price nobody knows.
    """

    def __init__(self, condense_at: int | None = None) -> None:
        """`condense_at` is how many tokens the conversation may have before it is condensed by itself."""
        self.spent = Spent()
        self.usage = Usage()
        self.cost: float | None = 0.0
        self.saved: float | None = 0.0  # by the provider's cache
        self.condense_at = condense_at
        self._sizes: list[int] = []
        self.requests = 0
        self.context_tokens = 0
        self.tools: dict[str, dict[str, int]] = {}

    def request(self, usage: Usage, cost: float | None, saved: float | None) -> None:
        self.side_request(usage, cost, saved)
        if usage.context_tokens:
            self.context_tokens = usage.context_tokens
            self._sizes = [*self._sizes[1 - SIZES_KEPT :], usage.context_tokens]

    def reduced(self, context_tokens: int) -> None:
        """The conversation has another size now, which says nothing about how fast it grows."""
        self.context_tokens = context_tokens
        self._sizes.clear()

    @property
    def requests_to_condensing(self) -> int | None:
        """How many more requests there are before condensing, at the present rate; None if that cannot be told."""
        return requests_until(self.condense_at, self._sizes)

    def side_request(self, usage: Usage, cost: float | None, saved: float | None) -> None:
        """A request that is no part of the conversation, such as one for a summary of it."""
        self.requests += 1
        self.usage = self.usage + usage
        self.cost = _sum(self.cost, cost)
        is_cached = usage.cache_read_input_tokens or usage.cache_creation_input_tokens
        self.saved = _sum(self.saved, saved if is_cached else 0.0)
        self.spent.cost = _sum(self.spent.cost, cost)

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
        )


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def requests_until(limit: int | None, sizes: Sequence[int]) -> int | None:
    """How many more requests it takes to grow to `limit`, if it goes on as the newest sizes did; the last holds now.

    None if there is no limit, or nothing grew.
    """
    if limit is None or len(sizes) < 2:
        return None
    growth = (sizes[-1] - sizes[0]) / (len(sizes) - 1)
    return max(0, ceil((limit - sizes[-1]) / growth)) if growth > 0 else None


class TaskRuntime(msgspec.Struct, kw_only=True):
    """The shared things of a task, and the one way to ask a person something. Only the modes and counts change."""

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
    turn_grants: list[str] = msgspec.field(default_factory=list)  # until the person is next
    turn_denials: list[str] = msgspec.field(default_factory=list)  # likewise
    meter: Meter = msgspec.field(default_factory=Meter)
    background: set[asyncio.Task[HookResult]] = msgspec.field(default_factory=set)
    agent_type: str | None = None  # of a subtask
    prompt_id: str | None = None  # which words of the person it works on
    waited_s: float = 0.0  # for answers of a person
    given: dict[str, GivenAnswer] = msgspec.field(default_factory=dict)  # by call, to asks of an earlier process
    typed_calls: set[str] = msgspec.field(default_factory=set)  # those that the person typed themselves

    @property
    def task_id(self) -> str:
        return self.rows.task_id

    def end_turn_rules(self) -> None:
        """What a skill allowed or forbade was for the prompt that named it."""
        self.turn_grants.clear()
        self.turn_denials.clear()

    def switch_mode(self, mode: str) -> None:
        self.mode = mode
        self.journal.write(TaskRecord(task_id=self.task_id, mode=mode))
        self.bus.emit(TaskModeSwitched(task_id=self.task_id, mode=mode))

    @property
    def background_tasks(self) -> list[dict[str, str]]:
        """What still runs beside the task, as hooks are told."""
        return [
            {"id": process.id, "type": "shell", "status": "running", "command": process.command}
            for process in self.services.processes.background
            if process.ending is None
        ]

    @property
    def hook_context(self) -> HookContext:
        """What hooks are told of this task as it is now."""
        return HookContext(
            permission_mode=self.permission_mode,
            task_id=self.task_id,
            agent_id=None if self.agent_type is None else self.task_id,
            agent_type=self.agent_type,
            prompt_id=self.prompt_id,
            tell=lambda message: self.bus.emit(Notice(level="info", text=message)),
        )

    def warn(self, message: str) -> None:
        """Tell the person something that a script's output is no reason to leave out."""
        self.bus.emit(Notice(level="warning", text=message))

    def tell_usage(self) -> None:
        """Tell clients what the task has used so far, and how full its window is."""
        for event in self.usage_events:
            self.bus.emit(event)

    @property
    def usage_events(self) -> tuple[Event, ...]:
        """What the task has used so far, and how full its window is."""
        meter = self.meter
        told = TaskTokenUsageUpdated(task_id=self.task_id, token_usage=meter.totals, usage=meter.usage)
        return told, self.context_update(meter.context_tokens)

    def context_update(self, used: int, entries: tuple[LedgerEntry, ...] = ()) -> ContextUpdate:
        """How full the window is with `used` tokens in it, and what fills it, if that was asked for."""
        meter, window = self.meter, self.services.model.info.context_window
        return ContextUpdate(
            task_id=self.task_id,
            used_tokens=used,
            max_tokens=window,
            used_percentage=round(min(100.0, 100 * used / window), 2),
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
        """Ask, and wait until somebody answers. `seed` is the form of the ask for clients that know only that.

        `row` is given if the same was asked before and is shown already.
        """
        given = self.given.pop(call_id or "", None)
        if given is not None and self._is_what_was_asked(asked, given.row):
            self.settle(given.row, given.answer)
            return given.answer
        if given is not None:
            self.rows.change(given.row, is_answered=True)
            self.rows.say("error", ASKED_ANEW)
        answer = await self._ask(asked, seed or seed_ask(asked), call_id=call_id, row=row)
        assert not isinstance(answer, CondenseContext)
        return answer

    def settle(self, row: Message, answer: Answer) -> None:
        """Write down what was answered, and let every client know."""
        response, text = seed_form(answer)
        self.journal.write(AnswerRecord(task_id=self.task_id, ts=row.ts, response=response, text=text or None))
        self._close_ask(row, response)

    def has_answer_about(self, call_id: str) -> bool:
        """Whether a person has said already if the call may run. A no counts even where nobody would be asked now."""
        given = self.given.get(call_id)
        return given is not None and given.is_about_running

    def was_typed(self, call_id: str) -> bool:
        """Whether a person who is there typed this call. Told once: if it is tried in another way, they are asked."""
        is_typed = call_id in self.typed_calls and self.options.attended
        self.typed_calls.discard(call_id)
        return is_typed

    def forget_given(self) -> None:
        """The calls have been made. What was answered to a question that did not come again is of no use."""
        for given in self.given.values():
            self.rows.change(given.row, is_answered=True)
        self.given.clear()

    async def ask_or_command(self, asked: Ask) -> Answer | CondenseContext:
        """Ask where a client may give a command instead of an answer; whoever obeys it asks again."""
        return await self._ask(asked, seed_ask(asked), takes_commands=True)

    async def _ask(
        self,
        asked: Ask,
        seed: SeedAsk,
        *,
        call_id: str | None = None,
        row: Message | None = None,
        takes_commands: bool = False,
    ) -> Answer | CondenseContext:
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
        queued = self._queued_answer(asked)
        if queued is not None:
            answer: Answer | CondenseContext = queued
        else:
            began = monotonic()
            try:
                answer = await self.asks.wait_or_obey(row, takes_commands=takes_commands)
            finally:
                self.waited_s += monotonic() - began
        if isinstance(answer, CondenseContext):
            self._close_ask(row, CONDENSED)
        else:
            self.settle(row, answer)
        return answer

    def _queued_answer(self, asked: Ask) -> Say | None:
        """What was queued and answers this: nothing that waits for the end of the turn answers a question in it."""
        if not is_answered_by_queue(asked):
            return None
        queued = self.queue.take(is_turn_over=isinstance(asked, CompletionAsk))
        return None if queued is None else Say(text=queued.text, images=queued.images, is_command=queued.is_command)

    def _close_ask(self, row: Message, response: str) -> None:
        self.rows.change(row, is_answered=True)
        self.bus.emit(TaskActive(task_id=self.task_id))
        self.bus.emit(TaskAskResponded(task_id=self.task_id, ts=row.ts, response=response))

    def _is_what_was_asked(self, asked: Ask, row: Message) -> bool:
        """Whether the person was shown the same. Why it was asked may have changed: today's policy has judged it."""
        before = ask_of(row)
        return before is not None and self._shown(asked) == self._shown(before)

    def _shown(self, asked: Ask) -> bytes:
        """What a person sees of it; the log has it with secrets covered."""
        if isinstance(asked, ApprovalAsk):
            asked = msgspec.structs.replace(asked, verdict=ApprovalVerdict())
        return self.services.redactor(encode(asked))

    def _notify(self, asked: Ask) -> None:
        """Tell hooks that a person is waited for, while we wait."""
        if self.services.hooks.lifecycle is None or not self.options.attended:
            return
        # Only for those who have hooks.
        from robota.engine.runtime.notification import notification_of

        told = notification_of(asked)
        job = asyncio.create_task(self.fire(HookEvent.NOTIFICATION, told["notification_type"], **told))
        self.background.add(job)
        job.add_done_callback(self.background.discard)

    def _waiting_event(self, kind: str) -> Event:
        if kind in IDLE_ASKS:
            return TaskIdle(task_id=self.task_id)
        if kind in RESUMABLE_ASKS:
            return TaskResumable(task_id=self.task_id)
        return TaskInteractive(task_id=self.task_id)
