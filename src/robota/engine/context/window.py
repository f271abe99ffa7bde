"""Keeping a conversation within the model's window: when it is condensed, and when its oldest part is left out."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from robota.engine.context.size import Gauge, room_for_input
from robota.engine.model.request_retry import RequestRetry
from robota.engine.record.meter import total_in
from robota.engine.task.runtime import TaskRuntime
from robota.protocol.conversation import Usage
from robota.protocol.message import TodoItem

if TYPE_CHECKING:
    from robota.engine.context.shortening import Shortening

# The answer to an ask that wants the conversation condensed before it is asked again.
CONDENSE: Final = "condenseTaskContextRequest"

FORCED_REDUCTIONS: Final = 3
FORCED_SHARE: Final = 0.75
# Turns are left out until so much of the room is filled: a little each time would spoil the prompt cache.
DROPPED_SHARE: Final = 0.5
# The next try waits until the conversation has grown by this share of the room: a try that does not help is not free.
GROWTH_SHARE: Final = 0.05


class Context:
    """The context window of one task."""

    def __init__(
        self, runtime: TaskRuntime, request_retry: RequestRetry, gauge: Gauge, todos: Callable[[], Sequence[TodoItem]]
    ) -> None:
        self._runtime = runtime
        self._request_retry = request_retry
        self._gauge = gauge
        self._todos = todos
        self._room = room_for_input(runtime.services.model.info)
        self._made: Shortening | None = None
        self._requested_focus: str | None = None
        self._next_try_at = 0.0
        self._forced = 0

    @property
    def tokens(self) -> int:
        """What the conversation fills of the window, as far as it is known."""
        return self._gauge.tokens(self._runtime.history.characters)

    def request_condensing(self, focus: str) -> None:
        """Condense before the next request; `focus` is what the summary must keep above all."""
        self._requested_focus = focus

    def answered(self, usage: Usage) -> None:
        """The model has answered: its count holds for the history with that answer."""
        self._gauge.count(total_in(usage) + usage.output_tokens, self._runtime.history.characters)
        self._forced = 0

    async def make_room(self) -> None:
        """Before a request: condense if asked to or the window is nearly full; drop turns if it is over-full."""
        if self._requested_focus is not None:
            await self.condense_now(self._requested_focus)
        threshold = self._runtime.options.auto_compact_threshold
        if threshold is not None and self.tokens >= max(threshold * self._room, self._next_try_at):
            await self._condense_by_itself(self._room)
        if self.tokens > self._room:
            self._shortening.drop(self._room, DROPPED_SHARE * self._room)

    async def make_room_by_force(self) -> bool:
        """The provider found the request too long. Whether it is shorter now and worth another try."""
        if self._forced >= FORCED_REDUCTIONS:
            self._forced = 0
            return False
        self._forced += 1
        target = FORCED_SHARE * self.tokens
        if self._forced == 1 and await self._condense_by_itself(target) and self.tokens <= target:
            return True
        return self._shortening.drop(target, target)

    async def condense_now(self, focus: str) -> None:
        """Because a person wants it."""
        self._requested_focus = None
        await self._shortening.condense("manual", focus, self._room)

    async def _condense_by_itself(self, room: float) -> bool:
        if not self._shortening.can_condense:
            return False
        try:
            return await self._shortening.condense("auto", "", room)
        finally:
            self._next_try_at = self.tokens + GROWTH_SHARE * self._room

    @property
    def _shortening(self) -> "Shortening":
        if self._made is None:
            # Most tasks end long before their window is full; they need not wait for what shortens one.
            from robota.engine.context.shortening import Shortening

            self._made = Shortening(self._runtime, self._request_retry, self._gauge, self._todos)
        return self._made
