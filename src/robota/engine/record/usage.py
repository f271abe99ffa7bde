"""Telling clients what a task has used so far, and how full its window is."""

from robota.engine.task.runtime import TaskRuntime
from robota.protocol.events import ContextUpdate, TaskTokenUsageUpdated


def tell_usage(runtime: TaskRuntime) -> None:
    meter, task = runtime.meter, runtime.task_id
    runtime.bus.emit(TaskTokenUsageUpdated(task_id=task, token_usage=meter.totals, usage=meter.usage))
    window, used = runtime.services.model.info.context_window, meter.context_tokens
    percentage = round(min(100.0, 100 * used / window), 2)
    runtime.bus.emit(ContextUpdate(task_id=task, used_tokens=used, max_tokens=window, used_percentage=percentage))
