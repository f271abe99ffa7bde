"""Trying a request again after a fault that may pass: pauses that people see, then the next model."""

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Final, TypeVar

from robota.engine.task.runtime import TaskRuntime
from robota.protocol.events import Notice, RetryScheduled
from robota.providers.fault import FaultKind, ProviderFault
from robota.providers.retry import delay, most_retries

EMPTY_REPLIES: Final = 3

T = TypeVar("T")


class RequestRetry:
    """Of one task. `model` is the one to ask now; `empty_replies` counts how often in a row it said nothing."""

    def __init__(self, runtime: TaskRuntime) -> None:
        self._services = runtime.services
        self._rows = runtime.rows
        self._bus = runtime.bus
        self._models = (runtime.options.model, *runtime.options.fallback_models)
        self._retry_now = asyncio.Event()
        self.model = runtime.options.model
        self.empty_replies = 0

    def retry_now(self) -> None:
        """End the pause before the next try."""
        self._retry_now.set()

    async def persist(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """What an attempt returns, or the fault after which there is nothing left to try."""
        tries, waited, self.empty_replies = 0, 0.0, 0
        while True:
            try:
                return await attempt()
            except ProviderFault as fault:
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
        """Go on with the next model, if there is one and the fault is the model's or its server's."""
        next_place = self._models.index(self.model) + 1
        if next_place == len(self._models) or not (fault.retryable or fault.kind is FaultKind.MODEL_NOT_FOUND):
            return False
        failed, self.model = self.model, self._models[next_place]
        self._bus.emit(Notice(level="warning", text=f"{failed} does not answer ({fault.message}) Using {self.model}."))
        return True

    async def _pause(self, seconds: float, attempt: int, fault: ProviderFault) -> float:
        """Wait, visibly, until the next try is due or somebody wants it now; returns how long it took."""
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
