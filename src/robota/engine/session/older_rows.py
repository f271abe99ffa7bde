"""Pages of a task's rows: the newest are in memory, older ones are read from the log on request."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from robota.engine.record.rows import Rows
from robota.log.errors import LogError
from robota.log.replay.rows.past_calls import past_calls, placed
from robota.log.replay.rows.row_pages import RowsFound, rows_before
from robota.protocol.calls import PastCall
from robota.protocol.commands import OlderRowsRequest, Refused
from robota.protocol.events import OlderRows
from robota.protocol.message import Message

MOST_ROWS: Final = 1_000


async def page_of(rows: Rows, log: Path, request: OlderRowsRequest) -> OlderRows | Refused:
    """The requested rows, and how many there are before them."""
    most = max(0, min(request.limit, MOST_ROWS))
    before = request.before_ts
    known = [row for row in rows.messages if before is None or row.ts < before]
    cut = max(0, len(known) - most)
    found = RowsFound(older=rows.older.count if rows.older is not None else 0)
    if rows.older is not None and not cut:
        first = known[0].ts if known else before if before is not None else int(rows.older.last_ts) + 1
        try:
            found = await asyncio.to_thread(rows_before, log, rows.task_id, rows.older, first, most - len(known))
        except (LogError, OSError) as error:
            return Refused(code="log_unreadable", message=f"Earlier messages cannot be read: {error}")
    shown = (*found.rows, *known[cut:])
    return OlderRows(
        task_id=rows.task_id,
        messages=shown,
        calls=(*past_calls(found.rows, found.calls), *calls_of(rows, known[cut:])),
        older_rows=found.older + cut,
        request_id=request.request_id,
    )


def calls_of(rows: Rows, shown: Sequence[Message]) -> tuple[PastCall, ...]:
    """The past calls that belong to these rows, which are in memory."""
    return past_calls(shown, (*rows.known_calls, *map(placed, rows.call_ends)))
