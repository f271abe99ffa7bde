"""Pages of a task's rows: the newest are in memory, older ones are read from the log on request."""

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from robota.engine.record.rows import Rows
from robota.engine.session.decision import NO_TASK, no_such_task
from robota.log.errors import LogError
from robota.log.replay.rows.past_calls import past_calls, placed
from robota.log.replay.rows.row_pages import RowsFound, rows_before
from robota.protocol.calls import PastCall
from robota.protocol.commands import OlderRowsRequest, Refused
from robota.protocol.events import OlderRows
from robota.protocol.message import Message

if TYPE_CHECKING:
    from robota.engine.runtime.task_runtime import TaskRuntime

MAX_ROWS: Final = 1_000


async def page_for(
    request: OlderRowsRequest, shown: "TaskRuntime | None", runtimes: "Iterable[TaskRuntime]"
) -> OlderRows | Refused:
    """The requested rows of the shown task, or of one of the others."""
    if request.task_id is not None and (shown is None or request.task_id != shown.task_id):
        shown = next((runtime for runtime in runtimes if runtime.task_id == request.task_id), None)
    if shown is None:
        return NO_TASK if request.task_id is None else no_such_task(request.task_id)
    return await page_of(shown.rows, shown.journal.path, request)


async def page_of(rows: Rows, log: Path, request: OlderRowsRequest) -> OlderRows | Refused:
    """The requested rows, and how many there are before them."""
    most = max(0, min(request.limit, MAX_ROWS))
    before = request.before_ts
    older = [row for row in rows.messages if before is None or row.ts < before]
    cut = max(0, len(older) - most)
    page = RowsFound(older=rows.older.count if rows.older is not None else 0)
    if rows.older is not None and not cut:
        first = older[0].ts if older else before if before is not None else int(rows.older.last_ts) + 1
        try:
            page = await asyncio.to_thread(rows_before, log, rows.task_id, rows.older, first, most - len(older))
        except (LogError, OSError) as error:
            return Refused(code="log_unreadable", message=f"Earlier messages cannot be read: {error}")
    shown = (*page.rows, *older[cut:])
    return OlderRows(
        task_id=rows.task_id,
        messages=shown,
        calls=(*past_calls(page.rows, page.calls), *calls_of(rows, older[cut:])),
        older_rows=page.older + cut,
        request_id=request.request_id,
    )


def calls_of(rows: Rows, shown: Sequence[Message]) -> tuple[PastCall, ...]:
    """The past calls that belong to these rows, which are in memory."""
    return past_calls(shown, (*rows.known_calls, *map(placed, rows.call_ends)))
