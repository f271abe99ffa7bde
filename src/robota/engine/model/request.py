"""Requests a reply from the model: retries, shortens the conversation if needed, and asks the user if all fails."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import nullcontext
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from robota.contracts.tool import ToolCall
from robota.engine.model.reply import CallFormat, Reply, ReplyReader
from robota.engine.model.system_prompt import (
    MODE,
    ModePrompt,
    mode_change,
    mode_prompt,
    situation,
    state_text,
    suits_mode,
    told_state,
)
from robota.engine.runtime.task_runtime import TaskHead, TaskRuntime
from robota.engine.runtime.user_input import ends_turn
from robota.protocol.asks.answer import Answer
from robota.protocol.asks.ask import FailureAsk, Fault
from robota.protocol.commands import CondenseContext
from robota.protocol.conversation import AssistantTurn, TextBlock, Usage
from robota.protocol.events import Notice, RetryScheduled, Thinking, TurnReply
from robota.protocol.message import Message
from robota.providers import pricing
from robota.providers.chunks import ModelRequest, ToolSpec
from robota.providers.fault import FaultKind, ProviderFault
from robota.providers.retry import delay, most_retries

if TYPE_CHECKING:
    from robota.contracts.budget import Amount
    from robota.engine.budgets.account import Exhausted
    from robota.engine.budgets.task_budget import RequestHold, TaskBudget

NO_ANSWER: Final = "MODEL_NO_ASSISTANT_MESSAGES"
CHARACTERS_A_TOKEN: Final = 4
NO_REPLY: Final = "[no answer: the request failed or was stopped by the user]"
EMPTY_REPLIES: Final = 3

T = TypeVar("T")


class RequestGivenUp(Exception):
    """The request failed and the user does not want to retry."""


class BudgetExhausted(Exception):
    """The request was not sent, because a budget leaves too little for it, as its `cause` says."""

    def __init__(self, cause: "Exhausted") -> None:
        super().__init__(str(cause))
        self.cause = cause


class AnsweredWithPrompt(Exception):
    """The user answered a failed request with a prompt, which goes to the model with the next request."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.text)
        self.answer = answer


class ContextWindow(Protocol):
    """The part of `Context` that a request uses."""

    async def make_room(self) -> None:
        """Shorten the conversation before a request, if needed."""
        ...

    async def force_reduction(self) -> bool:
        """Shorten the conversation after the provider rejected it as too long. Whether a retry is worth it."""
        ...

    async def condense_now(self, focus: str) -> bool:
        """Condense because the user asked for it."""
        ...

    def answered(self, usage: Usage) -> None:
        """Take over the token count of a reply."""
        ...

    @property
    def tokens(self) -> int:
        """The size of the conversation in tokens, as far as it is known."""
        ...


class Requester:
    """Requests the replies of one task."""

    def __init__(
        self,
        runtime: TaskRuntime,
        call_format: CallFormat,
        head: ModePrompt,
        request_retry: "RequestRetry",
        context: ContextWindow,
    ) -> None:
        self._runtime = runtime
        self._call_format = call_format
        self._use(head)
        self._request_retry = request_retry
        self._context = context
        self._services = runtime.services
        self._rows = runtime.rows
        self._history = runtime.history
        self._bus = runtime.bus
        self._meter = runtime.meter
        self._is_unanswered = False
        self._told: dict[str, str] | None = None
        self._state_key: tuple[object, ...] = ()
        self._recorded_contents: tuple[str, str, tuple[ToolSpec, ...]] | None = None
        self._new_id: Iterator[str] = (f"call_{number}" for number in count(self._history.last_call_number + 1))

    @property
    def is_pausing(self) -> bool:
        """Whether a request waits to be retried."""
        return self._request_retry.is_pausing

    def retry_now(self) -> None:
        """End the pause before the next retry."""
        self._request_retry.retry_now()

    def state_changes(self) -> str:
        """Adapt the prompt to the present mode; returns what changed since the model was last told, as text for it.

        The prompt is built again only if nothing was sent yet, or if it lacks something that the mode needs: what
        stays the same is cached by the provider.
        """
        runtime = self._runtime
        key = (runtime.mode, runtime.permission_mode, runtime.services.reach.now)
        if key == self._state_key:
            return ""
        self._state_key = key
        is_new = self._history.recorded == 0
        if is_new or not suits_mode(self._head, runtime):
            self._told = None if is_new else self._state_told
            self._use(mode_prompt(runtime, self._call_format))
        told, now = self._state_told, situation(runtime)
        changed = {label: text for label, text in now.items() if told.get(label) != text}
        self._told = {**told, **now}
        if not changed:
            return ""
        about_mode = mode_change(runtime, self._head.specs) if MODE in changed else ""
        return f"{state_text(changed)}\n\n{about_mode}".strip()

    def _use(self, head: ModePrompt) -> None:
        self._head = head
        tools = self._call_format.offered(head.specs)
        self._runtime.head = TaskHead(system=head.system, tools=tools, state=head.situation)

    @property
    def _state_told(self) -> dict[str, str]:
        """What the model knows of the state of the session, from the prompt and from reminders."""
        return {**self._head.situation, **told_state(self._history.turns)} if self._told is None else self._told

    async def reply(self) -> Reply:
        """The next reply, complete and not empty."""
        self._is_unanswered = True
        await self._context.make_room()
        while True:
            try:
                reply = await self._request_retry.persist(self._attempt)
            except ProviderFault as fault:
                if fault.kind is FaultKind.CONTEXT_TOO_LONG and await self._context.force_reduction():
                    continue
                await self._ask_to_retry(fault)
            else:
                self._context.answered(reply.turn.usage)
                self._is_unanswered = False
                return reply

    def close_unanswered(self) -> None:
        """Note that the last request has no reply and will get none: the next prompt must not be taken for its end."""
        if self._is_unanswered and self._history.awaits_reply:
            note = AssistantTurn(content=(TextBlock(text=NO_REPLY),), model=self._request_retry.model)
            self._history.add_reply(note)
        self._is_unanswered = False

    async def _attempt(self) -> Reply:
        self._record_contents()
        request = self._request()
        if self._runtime.budget is None:
            return await self._exchange(request, None)
        with await self._hold(self._runtime.budget, request) as hold:
            return await self._exchange(hold.request, hold)

    async def _hold(self, budget: "TaskBudget", request: ModelRequest) -> "RequestHold":
        # Imported here because few sessions are limited.
        from robota.engine.budgets.account import Exhausted

        try:
            return await budget.hold(request)
        except Exhausted as cause:
            raise BudgetExhausted(cause) from cause

    async def _exchange(self, request: ModelRequest, hold: "RequestHold | None") -> Reply:
        row = self._rows.say("api_req_started", json.dumps({"apiProtocol": self._services.model.api_protocol}))
        text_reader = self._call_format.reader(
            tuple(self._services.tools.specs), self._new_id, self._services.tools.all
        )
        reader = ReplyReader(self._rows, self._bus, text_reader, self._new_id, self._normal)
        self._bus.emit(Thinking(task_id=self._rows.task_id, is_thinking=True))
        try:
            await self._read(reader, request, None if hold is None else hold.seconds)
            reply = reader.finish(f"msg_{row.ts}", self._request_retry.model)
        except ProviderFault as fault:
            reader.interrupted()
            self._close_request(
                row, reader, hold, cancelReason="streaming_failed", streamingFailedMessage=fault.message
            )
            raise
        except asyncio.CancelledError:
            self._keep_partial_reply(reader.interrupted(), reader.usage, row)
            self._close_request(row, reader, hold, cancelReason="user_cancelled")
            raise
        self._close_request(row, reader, hold)
        self._refuse_unusable(reply)
        self._history.add_reply(reply.turn)
        self._bus.emit(TurnReply(task_id=self._rows.task_id, reply=reply.turn))
        return reply

    def _normal(self, call: ToolCall) -> ToolCall:
        """The call in the form in which policy, hooks, the log and clients see it. Most have it already."""
        tools = self._services.tools.all
        if any(tool.name == call.name and tool.is_normal(call.input) for tool in tools):
            return call
        from robota.engine.model.normal_form import NormalForm

        return NormalForm(tools).of(call)

    @property
    def contents(self) -> tuple[str, str, tuple[ToolSpec, ...]]:
        """The model, system prompt and tools of a request: all but the turns."""
        return self._request_retry.model, self._runtime.head.system, self._runtime.head.tools

    def _record_contents(self) -> None:
        """Log the model, system prompt and tools, if they changed since the last request."""
        contents = self.contents
        if contents != self._recorded_contents:
            self._recorded_contents = contents
            self._runtime.journal.write_request(
                self._rows.task_id,
                *contents,
                model_room=(self._services.model.info.context_window, self._services.model.info.input_room),
                condense_at=self._meter.condense_at,
            )

    def _request(self) -> ModelRequest:
        return ModelRequest(
            model=self._request_retry.model,
            system=self._runtime.head.system,
            turns=self._history.outgoing(),
            tools=self._runtime.head.tools,
            max_output_tokens=self._services.model.info.max_output_tokens,
            cache_key=self._runtime.options.session_id,
        )

    async def _read(self, reader: ReplyReader, request: ModelRequest, seconds: float | None) -> None:
        """Read the reply; `seconds` is how long that may take, if time is limited."""
        stream = self._services.model.provider.stream(request)
        try:
            async with nullcontext() if seconds is None else asyncio.timeout(seconds):
                async for batch in stream:
                    for chunk in batch:
                        reader.take(chunk)
        except TimeoutError as error:
            raise ProviderFault(FaultKind.STREAM_CUT, "The time that was left for the request is over.") from error
        finally:
            close = getattr(stream, "aclose", None)
            if close is not None:
                await close()
        if reader.finish_reason is None:
            raise ProviderFault(FaultKind.STREAM_CUT, "The model's answer ended before it was complete.")

    def _refuse_unusable(self, reply: Reply) -> None:
        """Raise a fault for an empty reply, which is retried, or one that a content filter stopped."""
        if reply.turn.stop_reason == "content_filter":
            raise ProviderFault(
                FaultKind.CONTENT_FILTER, "The provider's content filter stopped the answer. Rephrase the request."
            )
        if not reply.is_empty:
            return
        if self._request_retry.empty_replies > 0:
            self._rows.say("error", NO_ANSWER)
        raise ProviderFault(FaultKind.EMPTY_REPLY, "The model returned an empty answer. Retry, or use another model.")

    def _close_request(self, row: Message, reader: ReplyReader, hold: "RequestHold | None", **why: str) -> None:
        """Write tokens and cost into the row of the request: a row without cost counts as running."""
        usage, cost = reader.usage, reader.cost
        if cost is None and reader.finish_reason is None and usage == Usage():
            cost = 0.0  # it failed before anything was counted
        charged = None
        if hold is not None:
            charged = hold.settle(usage, cost, reader.finish_reason, was_answered=reader.has_begun)
        is_estimated = reader.finish_reason is not None and usage == Usage()
        if is_estimated:
            usage, cost = self._estimated(reader, cost, charged)
            self._meter.side_request(usage, cost, 0.0)
            self._meter.estimated_requests += 1
        else:
            self._meter.request(usage, cost, reader.saved)
        info = {"apiProtocol": self._services.model.api_protocol, **_tokens(usage), "cost": cost, **why}
        if is_estimated:
            info["estimated"] = True
        if reader.saved:
            info["cacheSavings"] = reader.saved
        self._bus.emit(Thinking(task_id=self._rows.task_id, is_thinking=False))
        self._rows.change(row, text=json.dumps(info))
        self._runtime.emit_usage()

    def _estimated(
        self, reader: ReplyReader, cost: float | None, charged: "Amount | None"
    ) -> tuple[Usage, float | None]:
        """About what a request used whose server counted nothing; its cost is what the budget was charged, if any."""
        model = self._request_retry.model
        usage = Usage(input_tokens=self._context.tokens, output_tokens=reader.length // CHARACTERS_A_TOKEN)
        if cost is not None:
            return usage, cost
        price = self._services.model.price_of(model)
        return usage, pricing.cost(usage, price) if charged is None or price is None else charged.dollars

    def _keep_partial_reply(self, text: str, usage: Usage, row: Message) -> None:
        """Add an interrupted reply to the history: the user has read it, so the model must know it."""
        if text.strip():
            block = TextBlock(text=f"{text}\n\n[interrupted by the user]")
            model = self._request_retry.model
            self._history.add_reply(AssistantTurn(content=(block,), id=f"msg_{row.ts}", model=model, usage=usage))

    async def _ask_to_retry(self, fault: ProviderFault) -> None:
        details = Fault(kind=fault.kind, message=fault.message, retryable=fault.retryable, status=fault.status)
        asked = FailureAsk(message=fault.message, fault=details)
        answer = await self._runtime.ask_or_command(asked)
        while isinstance(answer, CondenseContext):
            await self._context.condense_now(answer.text or "")
            answer = await self._runtime.ask_or_command(asked)
        if ends_turn(asked, answer):
            raise RequestGivenUp(fault.message)
        self._rows.say("api_req_retried")
        if answer.has_words:
            raise AnsweredWithPrompt(answer)


class RequestRetry:
    """The retries of one task. `model` is the current one; `empty_replies` counts empty replies in a row."""

    def __init__(self, runtime: TaskRuntime) -> None:
        self._services = runtime.services
        self._rows = runtime.rows
        self._bus = runtime.bus
        self._runtime = runtime
        self._models = (runtime.options.model, *runtime.options.settings.fallback_models)
        self._retry_now: asyncio.Event | None = None  # while a pause lasts
        self._model = runtime.options.model
        self.empty_replies = 0

    @property
    def model(self) -> str:
        """The model of the next request: that of the command that the user ran, or the session's."""
        return self._runtime.turn_model or self._model

    @property
    def is_pausing(self) -> bool:
        """Whether a request waits to be retried."""
        return self._retry_now is not None

    def retry_now(self) -> None:
        """End the pause before the next retry, if there is one."""
        if self._retry_now is not None:
            self._retry_now.set()

    async def persist(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Repeat `attempt` until it returns; raises the fault after which no retry and no fallback model is left."""
        tries, waited, self.empty_replies = 0, 0.0, 0
        while True:
            try:
                return await attempt()
            except ProviderFault as fault:
                self._services.model.note_fault()
                self.empty_replies += fault.kind is FaultKind.EMPTY_REPLY
                pause = self._next_pause(fault, tries, waited)
                if pause is not None:
                    tries += 1
                    waited += await self._pause(pause, tries, fault)
                elif self._fall_back(fault):
                    tries, waited, self.empty_replies = 0, 0.0, 0
                else:
                    raise

    def _next_pause(self, fault: ProviderFault, tries: int, waited: float) -> float | None:
        if fault.kind is FaultKind.EMPTY_REPLY and self.empty_replies >= EMPTY_REPLIES:
            return None
        return delay(self._services.model.retry, tries, fault, waited, self._services.model.random())

    def _fall_back(self, fault: ProviderFault) -> bool:
        """Switch to the next fallback model, if there is one and the fault is the model's or its server's."""
        if not (fault.retryable or fault.kind is FaultKind.MODEL_NOT_FOUND):
            return False
        failed, next_place = self.model, self._models.index(self._model) + 1
        if self._runtime.turn_model is not None:
            self._runtime.turn_model = None
        elif next_place < len(self._models):
            self._model = self._models[next_place]
        else:
            return False
        text = f"{failed} does not respond ({fault.message}) Using {self.model} instead."
        self._bus.emit(Notice(level="warning", text=text))
        return True

    async def _pause(self, seconds: float, attempt: int, fault: ProviderFault) -> float:
        """Wait, with a visible timer, until the retry is due or requested; returns how long it took."""
        header = f"{fault.status or fault.kind}\n{fault.message}"
        timer = f"{header}\n<retry_timer>{round(seconds)}</retry_timer>"
        row = self._rows.say("api_req_retry_delayed", timer, partial=True)
        self._bus.emit(
            RetryScheduled(
                task_id=self._rows.task_id,
                attempt=attempt,
                max_retries=most_retries(self._services.model.retry, fault),
                delay_ms=round(seconds * 1000),
                error=fault.kind,
                error_status=fault.status,
                reason=fault.reason,
            )
        )
        started = monotonic()
        self._retry_now = asyncio.Event()
        try:
            async with asyncio.timeout(seconds):
                await self._retry_now.wait()
        except TimeoutError:
            pass
        finally:
            self._retry_now = None
            self._rows.change(row, text=header, partial=False)
        return monotonic() - started


def _tokens(usage: Usage) -> dict[str, Any]:
    return {
        "tokensIn": usage.total_in,
        "tokensOut": usage.output_tokens,
        "cacheWrites": usage.cache_creation_input_tokens,
        "cacheReads": usage.cache_read_input_tokens,
    }
