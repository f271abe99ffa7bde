"""Runs the hooks for items of the todo list that the model marks as completed."""

from collections.abc import Iterable
from typing import Final

from robota.contracts.hook import HookEvent
from robota.contracts.tool import ToolResult
from robota.engine.runtime.task_runtime import TaskRuntime
from robota.protocol.message import TodoItem

COMPLETED: Final = "completed"


async def refused_completion(
    runtime: TaskRuntime, before: Iterable[TodoItem], now: Iterable[TodoItem]
) -> ToolResult | None:
    """What the model gets if a hook does not accept an item as completed; None if the new list may be used."""
    if runtime.services.hooks.lifecycle is None:
        return None
    completed = {item.content for item in before if item.status == COMPLETED}
    for number, item in enumerate(now, 1):
        if item.status != COMPLETED or item.content in completed:
            continue
        result = await runtime.fire(HookEvent.TASK_COMPLETED, task_id=str(number), task_subject=item.content)
        reason = result.stopped or result.blocked
        if reason is not None:
            content = (
                f"The todo list was not changed. A hook does not accept {item.content!r} as completed: {reason}\n"
                "Do what it says, or leave the item unfinished."
            )
            return ToolResult(content=content, is_error=True)
    return None
