"""Keeps a conversation within the context window: decides when it is condensed and when old turns are dropped."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from robota.contracts.tool import ToolRole, names_with_role
from robota.engine.model.request import CHARACTERS_A_TOKEN, RequestRetry
from robota.engine.runtime.task_runtime import TaskRuntime
from robota.log.replay.context import ContextFold
from robota.protocol.conversation import Usage
from robota.protocol.events import CondensePreview, ContextUpdate
from robota.protocol.message import TodoItem
from robota.providers.chunks import ToolSpec

if TYPE_CHECKING:
    from robota.engine.context.shortening import Shortening

FORCED_REDUCTIONS: Final = 3
FORCED_SHARE: Final = 0.75
# Turns are dropped until this share of the room is filled: many small drops would spoil the prompt cache.
DROPPED_SHARE: Final = 0.5
# Cutting old outputs must free this share of the room to be worth the lost prompt cache.
CUT_SHARE: Final = 0.2
# After an attempt the next one waits until the conversation has grown by this share of the room.
GROWTH_SHARE: Final = 0.05


def overhead_of(system: str, specs: Sequence[ToolSpec]) -> int:
    """The characters of system prompt and tools, which every request has besides the conversation."""
    return len(system) + sum(spec.characters for spec in specs)


class Gauge:
    """Estimates tokens from characters, corrected by each count that a provider reports."""

    def __init__(self, overhead: int) -> None:
        self._overhead = overhead
        self._tokens = 0
        self._characters = -overhead

    def count(self, tokens: int, characters: int) -> None:
        """Calibrate with the number of tokens that the provider counted for a conversation of `characters`."""
        if tokens > 0:
            self._tokens, self._characters = tokens, characters

    def tokens(self, characters: int) -> int:
        return max(0, self._tokens + (characters - self._characters) // CHARACTERS_A_TOKEN)

    def tokens_after(self, before: int, after: int) -> int:
        """The estimate after a change from `before` to `after` characters, in proportion."""
        share = (after + self._overhead) / max(1, before + self._overhead)
        return round(self.tokens(before) * share)

    def reduced(self, before: int, after: int) -> int:
        """Apply a change from `before` to `after` characters; returns the new estimate."""
        self._tokens, self._characters = self.tokens_after(before, after), after
        return self._tokens

    def characters_for(self, tokens: float, characters: int) -> int:
        """How many characters fit into `tokens`, for a conversation of `characters` now."""
        share = tokens / max(1, self.tokens(characters))
        return max(0, round((characters + self._overhead) * share) - self._overhead)


class Context:
    """The context window of one task."""

    def __init__(
        self, runtime: TaskRuntime, request_retry: RequestRetry, gauge: Gauge, todos: Callable[[], Sequence[TodoItem]]
    ) -> None:
        self._runtime = runtime
        self._request_retry = request_retry
        self._gauge = gauge
        self._todos = todos
        self._room = runtime.services.model.info.input_room
        self._made: Shortening | None = None
        self._requested_focus: str | None = None
        self._next_try_at = 0.0
        self._forced = 0
        self._was_forced_to_condense = False

    @property
    def tokens(self) -> int:
        """The size of the conversation in tokens, as far as it is known."""
        return self._gauge.tokens(self._runtime.history.characters)

    def update(self, system: str, tools: Sequence[ToolSpec]) -> ContextUpdate:
        """How full the context window is, with everything that fills it."""
        from robota.engine.context.ledger import entries_of, ledger_items

        runtime, used = self._runtime, self.tokens
        window = runtime.services.model.info.context_window
        readers = names_with_role(runtime.services.tools.all, ToolRole.FILE_READER)
        items = ledger_items(system, tools, runtime.history.pieces, readers)
        return runtime.context_update(used, entries_of(items, used, window, runtime.history.pins))

    def preview(self, system: str, tools: Sequence[ToolSpec]) -> CondensePreview | None:
        """What condensing would do to the conversation now; None if there is nothing to condense."""
        from robota.engine.context.preview import condense_preview

        return condense_preview(self._runtime, system, tools, self.tokens, self._shortening.characters_for(self._room))

    def restoration(self, identity: str, logged: ContextFold) -> Callable[[], None]:
        """A function that undoes a reduction at once. Raises `CannotRestore`.

        `logged` is what the log has of the task without it. Nothing is condensed automatically before the conversation
        has grown again.
        """
        restore = self._shortening.restoration(identity, logged, self._room)

        def undo() -> None:
            restore()
            self._next_try_at = self.tokens + GROWTH_SHARE * self._room

        return undo

    def request_condensing(self, focus: str) -> None:
        """Condense before the next request; `focus` is what the summary must keep above all."""
        self._requested_focus = focus

    def answered(self, usage: Usage) -> None:
        """Take over the token count of a reply, which includes the reply itself; without one, estimate it."""
        self._gauge.count(usage.context_tokens, self._runtime.history.characters)
        if not usage.context_tokens:
            self._runtime.meter.uncounted(self.tokens)
            self._runtime.emit_usage()
        self._reset_force()

    def recall(self, tokens: int) -> None:
        """Take over the token count of an earlier process."""
        self._gauge.count(tokens, self._runtime.history.characters)
        if not tokens and self._runtime.history.turns:
            self._runtime.meter.uncounted(self.tokens)

    async def make_room(self) -> None:
        """Before a request: condense if requested or nearly full, drop turns if over-full."""
        if self._requested_focus is not None:
            await self.condense_now(self._requested_focus)
        threshold = self._runtime.meter.condense_at
        if threshold is not None and self.tokens >= max(threshold, self._next_try_at) and not self._cut_outputs():
            await self._condense_automatically(self._room)
        if self.tokens > self._room and not self._cut_outputs(self.tokens - self._room):
            self._shortening.drop(self._room, DROPPED_SHARE * self._room)

    async def force_reduction(self) -> bool:
        """Shorten the conversation after the provider rejected it as too long. Whether a retry is worth it."""
        if self._forced >= FORCED_REDUCTIONS:
            self._reset_force()
            return False
        self._forced += 1
        target = FORCED_SHARE * self.tokens
        if self._cut_outputs(self.tokens - target):
            return True
        if not self._was_forced_to_condense:
            self._was_forced_to_condense = True
            if await self._condense_automatically(target) and self.tokens <= target:
                return True
        return self._shortening.drop(target, target)

    def _reset_force(self) -> None:
        self._forced, self._was_forced_to_condense = 0, False

    def _cut_outputs(self, least: float = 0.0) -> bool:
        """Cut old outputs; whether that was enough. It needs no request, but spoils the prompt cache."""
        return self._shortening.cut_outputs(max(least, CUT_SHARE * self._room), self._room)

    async def condense_now(self, focus: str) -> bool:
        """Condense because the user asked for it; whether it was done."""
        self._requested_focus = None
        return await self._shortening.condense("manual", focus, self._room)

    async def _condense_automatically(self, room: float) -> bool:
        if not self._shortening.can_condense:
            return False
        try:
            return await self._shortening.condense("auto", "", room)
        finally:
            self._next_try_at = self.tokens + GROWTH_SHARE * self._room

    @property
    def _shortening(self) -> "Shortening":
        if self._made is None:
            # Imported here because most tasks end before their window is full.
            from robota.engine.context.shortening import Shortening

            self._made = Shortening(self._runtime, self._request_retry, self._gauge, self._todos)
        return self._made
