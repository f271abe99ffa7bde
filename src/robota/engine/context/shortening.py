"""Shortens the conversation of a task and reports it: runs hooks, writes rows, emits events."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from robota.contracts.hook import HookEvent
from robota.engine.context.reducer import CannotCondense, Reducer, Sizes
from robota.engine.context.retained import reminder
from robota.engine.context.summary import Summariser
from robota.engine.model.request import RequestRetry
from robota.engine.runtime.task_runtime import TaskRuntime
from robota.log.replay.context import ContextFold
from robota.protocol.events import ContextReduced
from robota.protocol.message import Message, TodoItem
from robota.providers.fault import ProviderFault

if TYPE_CHECKING:
    from robota.engine.context.window import Gauge

Trigger = Literal["auto", "manual"]


class Shortening:
    """Condenses the conversation of one task, drops its oldest part, or cuts old outputs."""

    def __init__(
        self, runtime: TaskRuntime, request_retry: RequestRetry, gauge: "Gauge", todos: Callable[[], Sequence[TodoItem]]
    ) -> None:
        self._runtime = runtime
        self._summariser = Summariser(runtime, request_retry)
        self._reducer = Reducer(runtime, gauge, todos)

    def characters_for(self, tokens: float) -> int:
        """How many characters of the conversation fit into `tokens`."""
        return self._reducer.characters_for(tokens)

    @property
    def can_condense(self) -> bool:
        return self._reducer.can_condense

    async def condense(self, trigger: Trigger, focus: str, room: float) -> bool:
        """Condense; whether it was done. `room` is how many tokens the summary request may have."""
        row = self._runtime.rows.say("condense_context", partial=True)
        try:
            await self._condense_in(row, trigger, focus, room)
        except (CannotCondense, ProviderFault) as error:
            text = f"The conversation was not condensed and stays as it is: {error}"
            self._runtime.rows.change(row, say="condense_context_error", text=text, partial=False)
            return False
        except BaseException:
            self._runtime.rows.change(row, partial=False, interrupted=True)
            raise
        finally:
            self._runtime.emit_usage()
        model = self._runtime.options.model
        hook_result = await self._runtime.fire(HookEvent.SESSION_START, "compact", source="compact", model=model)
        self._runtime.history.add_user([reminder(hook_result.context)] if hook_result.context else [])
        return True

    def drop(self, limit: float, target: float) -> bool:
        """Drop the oldest exchanges, down to `target` tokens, at most `limit`. Whether that helped."""
        dropped = self._reducer.drop(limit, target)
        if dropped is None:
            return False
        details = {
            "truncationId": dropped.truncation_id,
            "messagesRemoved": dropped.messages_removed,
            **msgspec.to_builtins(dropped.sizes),
        }
        self._runtime.rows.say("sliding_window_truncation", context_truncation=details)
        self._reduced("truncated", "auto", dropped.sizes)
        self._runtime.emit_usage()
        return True

    def cut_outputs(self, least: float, room: float) -> bool:
        """Cut old outputs if that frees at least `least` tokens. Whether it was done."""
        cut = self._reducer.cut_outputs(least, room)
        if cut is None:
            return False
        details = {"truncationId": cut.cut_id, "outputsCut": cut.count, **msgspec.to_builtins(cut.sizes)}
        self._runtime.rows.say("tool_outputs_cut", context_truncation=details)
        self._reduced("cut", "auto", cut.sizes)
        self._runtime.emit_usage()
        return True

    def restoration(self, identity: str, logged: ContextFold, room: float) -> Callable[[], None]:
        """A function that undoes a reduction. Raises `CannotRestore`."""
        restore = self._reducer.restoration(identity, logged, room)

        def undo() -> None:
            self._reduced("restored", "manual", restore())
            self._runtime.emit_usage()

        return undo

    async def _condense_in(self, row: Message, trigger: Trigger, focus: str, room: float) -> None:
        """Condense. There is no await after the summary, so that no interruption can leave it half done."""
        runtime, cost = self._runtime, self._runtime.meter.cost
        if not self._reducer.can_condense:
            raise CannotCondense("there is not enough of it yet.")
        hook_result = await runtime.fire(HookEvent.PRE_COMPACT, trigger, trigger=trigger, custom_instructions=focus)
        veto = hook_result.blocked or hook_result.stopped
        if veto is not None:
            raise CannotCondense(f"a hook blocked it: {veto}")
        characters = self._reducer.characters_for(room)
        instructions = "\n".join(part for part in (focus, hook_result.context) if part)
        summary = await self._summariser.summarise(characters, instructions)
        condense_id = f"condense-{row.ts}"
        sizes = self._reducer.condense(condense_id, trigger, summary, characters)
        details = {
            "cost": None if runtime.meter.cost is None or cost is None else runtime.meter.cost - cost,
            **msgspec.to_builtins(sizes),
            "summary": summary,
            "condenseId": condense_id,
        }
        runtime.rows.change(row, context_condense=details, partial=False)
        self._reduced("condensed", trigger, sizes)

    def _reduced(self, how: str, trigger: Trigger, sizes: Sizes) -> None:
        self._runtime.meter.reduced(sizes.new_context_tokens)
        self._runtime.bus.emit(
            ContextReduced(
                task_id=self._runtime.task_id,
                how=how,
                trigger=trigger,
                prev_context_tokens=sizes.prev_context_tokens,
                new_context_tokens=sizes.new_context_tokens,
            )
        )
