"""The first events of a subscription: the state of the session, and its open tasks."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from robota.engine.record.rows import Rows
from robota.engine.runtime.options import Options, chosen_state
from robota.engine.runtime.services import SessionServices
from robota.engine.runtime.user_input import AskTable
from robota.engine.task.runner import TaskRunner
from robota.protocol.calls import PastCall
from robota.protocol.events import OpenTask, SessionState
from robota.protocol.message import Message

if TYPE_CHECKING:
    from robota.engine.runtime.task_runtime import TaskRuntime


def visible_runtime(runner: TaskRunner) -> "TaskRuntime | None":
    """The runtime of the task that clients are shown: the running one, or the one that waits to be resumed."""
    shown = runner.current or runner.paused
    return None if shown is None else shown.runtime


def snapshot(options: Options, services: SessionServices, runner: TaskRunner, asks: AskTable) -> SessionState:
    """The state of the session, except for what only the session itself knows."""
    runtime, shown = visible_runtime(runner), runner.current or runner.paused
    rows = runtime.rows.newest() if runtime else ()
    return msgspec.structs.replace(
        chosen_state(options),
        mode=runtime.mode if runtime else options.mode,
        cline_messages=rows,
        older_rows=runtime.rows.count - len(rows) if runtime else 0,
        calls=_past_calls(runtime.rows, rows) if runtime and rows else (),
        current_task_id=runtime.task_id if runtime else None,
        open_tasks=_open_tasks(runner, asks) if runner.has_subtasks else (),
        todos=shown.todos if shown else (),
        tools=tuple(services.tools.names),
        mcp_servers=tuple(services.tools.servers),
        sees_images=services.model.info.sees_images,
    )


def _past_calls(rows: Rows, shown: Sequence[Message]) -> tuple[PastCall, ...]:
    # Imported here because a new session has no past calls.
    from robota.engine.session.older_rows import calls_of

    return calls_of(rows, shown)


def _open_tasks(runner: TaskRunner, asks: AskTable) -> tuple[OpenTask, ...]:
    return tuple(
        OpenTask(
            task_id=task.runtime.task_id,
            parent_task_id=task.runtime.parent_id,
            mode=task.runtime.mode,
            asks=tuple(ask.message for ask in asks.open_asks if ask.task_id == task.runtime.task_id),
        )
        for task in runner.open_tasks
    )
