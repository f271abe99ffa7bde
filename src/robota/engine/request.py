"""Asking the model until there is a complete reply: retries, pauses, and the ask when nothing helps."""

import asyncio
import json
from collections.abc import Iterator
from itertools import count
from time import monotonic
from typing import Any, Final

from robota.engine.dialect import Dialect
from robota.engine.reply import Reply, ReplyReader
from robota.engine.scope import TaskScope
from robota.protocol.conversation import AssistantTurn, TextBlock, Usage
from robota.protocol.events import ContextUpdate, Notice, RetryScheduled, TaskTokenUsageUpdated, Thinking, TurnReply
from robota.protocol.message import Fault, Message
from robota.providers.chunks import ModelRequest
from robota.providers.fault import FaultKind, ProviderFault
from robota.providers.retry import delay

EMPTY_REPLIES: Final = 3
NO_ANSWER: Final = "MODEL_NO_ASSISTANT_MESSAGES"


class RequestGivenUp(Exception):
    """The request failed for good and the person does not want to try again."""


class Requester:
    """Gets replies for one task."""

    def __init__(self, scope: TaskScope, dialect: Dialect, system: str) -> None:
        self._scope = scope
        self._dialect = dialect
        self._system = system
        self._parts = scope.parts
        self._models = (scope.options.model, *scope.options.fallback_models)
        self._model = scope.options.model
        self._rows = scope.rows
        self._history = scope.history
        self._bus = scope.bus
        self._meter = scope.meter
        self._specs = tuple(scope.parts.specs)
        self._new_id: Iterator[str] = (f"call_{number}" for number in count(1))
        self._retry_now = asyncio.Event()
        self._empty_replies = 0

    def retry_now(self) -> None:
        """End the pause before the next try."""
        self._retry_now.set()

    async def reply(self) -> Reply:
        """The next reply, complete and not empty."""
        attempt, waited = 0, 0.0
        while True:
            try:
                return await self._attempt()
            except ProviderFault as fault:
                pause = self._next_pause(fault, attempt, waited)
                if pause is None:
                    if not self._fall_back(fault):
                        await self._ask_to_retry(fault)
                    attempt, waited, self._empty_replies = 0, 0.0, 0
                else:
                    attempt += 1
                    waited += await self._pause(pause, attempt, fault)

    def _next_pause(self, fault: ProviderFault, attempt: int, waited: float) -> float | None:
        if fault.kind is FaultKind.EMPTY_REPLY and self._empty_replies >= EMPTY_REPLIES:
            return None
        return delay(self._parts.retry, attempt, fault, waited, self._parts.random())

    def _fall_back(self, fault: ProviderFault) -> bool:
        """Go on with the next model, if there is one and the fault is the model's or its server's."""
        next_place = self._models.index(self._model) + 1
        if next_place == len(self._models) or not (fault.retryable or fault.kind is FaultKind.MODEL_NOT_FOUND):
            return False
        failed, self._model = self._model, self._models[next_place]
        self._bus.emit(Notice(level="warning", text=f"{failed} does not answer ({fault.message}) Using {self._model}."))
        return True

    async def _attempt(self) -> Reply:
        row = self._rows.say("api_req_started", json.dumps({"apiProtocol": self._parts.api_protocol}))
        reader = ReplyReader(self._rows, self._bus, self._dialect.reader(self._specs, self._new_id), self._new_id)
        self._bus.emit(Thinking(task_id=self._rows.task_id, is_thinking=True))
        try:
            await self._read(reader)
            reply = reader.finish(f"msg_{row.ts}", self._model)
        except ProviderFault as fault:
            reader.interrupted()
            self._close_request(row, reader, cancelReason="streaming_failed", streamingFailedMessage=fault.message)
            raise
        except asyncio.CancelledError:
            self._keep_what_came(reader.interrupted(), row)
            self._close_request(row, reader, cancelReason="user_cancelled")
            raise
        self._close_request(row, reader)
        self._refuse_unusable(reply)
        self._history.add_reply(reply.turn)
        self._bus.emit(TurnReply(task_id=self._rows.task_id, reply=reply.turn))
        return reply

    async def _read(self, reader: ReplyReader) -> None:
        request = ModelRequest(
            model=self._model,
            system=self._system,
            turns=self._history.outgoing(),
            tools=self._dialect.offered(self._specs),
            max_output_tokens=self._parts.model_info.max_output_tokens,
        )
        stream = self._parts.provider.stream(request)
        try:
            async for batch in stream:
                for chunk in batch:
                    reader.take(chunk)
        finally:
            close = getattr(stream, "aclose", None)
            if close is not None:
                await close()
        if reader.finish_reason is None:
            raise ProviderFault(FaultKind.STREAM_CUT, "The model's answer ended before it was complete.")

    def _refuse_unusable(self, reply: Reply) -> None:
        """An empty reply is asked for again, silently the first time; a filtered one cannot be helped."""
        if reply.turn.stop_reason == "content_filter":
            raise ProviderFault(
                FaultKind.CONTENT_FILTER, "The provider's content filter stopped the answer. Rephrase the request."
            )
        if not reply.is_empty:
            self._empty_replies = 0
            return
        self._empty_replies += 1
        if self._empty_replies > 1:
            self._rows.say("error", NO_ANSWER)
        raise ProviderFault(FaultKind.EMPTY_REPLY, "The model gave an empty answer. Try again, or use another model.")

    def _close_request(self, row: Message, reader: ReplyReader, **why: str) -> None:
        """Write tokens and cost into the request's row: without a cost it would look as if it still ran."""
        usage, cost = reader.usage, reader.cost or 0.0
        self._meter.request(usage, cost)
        info = {"apiProtocol": self._parts.api_protocol, **_tokens(usage), "cost": cost, **why}
        self._bus.emit(Thinking(task_id=self._rows.task_id, is_thinking=False))
        self._rows.change(row, text=json.dumps(info))
        task = self._rows.task_id
        self._bus.emit(TaskTokenUsageUpdated(task_id=task, token_usage=self._meter.totals, usage=self._meter.usage))
        window, used = self._parts.model_info.context_window, self._meter.context_tokens
        percentage = round(min(100.0, 100 * used / window), 2)
        self._bus.emit(ContextUpdate(task_id=task, used_tokens=used, max_tokens=window, used_percentage=percentage))

    def _keep_what_came(self, text: str, row: Message) -> None:
        """A person who interrupts has read this; the model must know it too."""
        if text.strip():
            block = TextBlock(text=f"{text}\n\n[interrupted by the user]")
            self._history.add_reply(AssistantTurn(content=(block,), id=f"msg_{row.ts}", model=self._model))

    async def _pause(self, seconds: float, attempt: int, fault: ProviderFault) -> float:
        """Wait, visibly, until the next try is due or somebody wants it now; returns how long it took."""
        header = f"{fault.status or fault.kind}\n{fault.message}"
        timer = f"{header}\n<retry_timer>{round(seconds)}</retry_timer>"
        row = self._rows.say("api_req_retry_delayed", timer, partial=True)
        self._bus.emit(
            RetryScheduled(
                task_id=self._rows.task_id,
                attempt=attempt,
                max_retries=self._parts.retry.max_retries,
                delay_ms=round(seconds * 1000),
                error=fault.kind,
                error_status=fault.status,
            )
        )
        started = monotonic()
        self._retry_now.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._retry_now.wait()
        except TimeoutError:
            pass
        finally:
            self._rows.change(row, text=header, partial=False)
        return monotonic() - started

    async def _ask_to_retry(self, fault: ProviderFault) -> None:
        details = Fault(kind=fault.kind, message=fault.message, retryable=fault.retryable, status=fault.status)
        answer = await self._scope.ask("api_req_failed", fault.message, fault=details)
        if not answer.is_yes:
            raise RequestGivenUp(fault.message)
        self._rows.say("api_req_retried")


def _tokens(usage: Usage) -> dict[str, Any]:
    cached = usage.cache_creation_input_tokens + usage.cache_read_input_tokens
    return {
        "tokensIn": usage.input_tokens + cached,
        "tokensOut": usage.output_tokens,
        "cacheWrites": usage.cache_creation_input_tokens,
        "cacheReads": usage.cache_read_input_tokens,
    }
