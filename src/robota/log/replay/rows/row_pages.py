"""Pages of rows that are not in memory: their lines in the log, and their totals."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from robota.log.chain.growth import LogPosition, records_since
from robota.log.chain.reader import LineSpan
from robota.log.kinds.calls import ToolEndRecord
from robota.log.kinds.conversation import MessageRecord, MessageTextRecord
from robota.log.record import Record, payload_of
from robota.log.replay.branches import RecordSpan
from robota.log.replay.request_account import ContextSize, RequestAccount, context_size_of, counted, request_info
from robota.log.replay.rows.past_calls import INTERRUPTED, CallEnds, EndedCall, with_cut_off
from robota.protocol.message import Message
from robota.protocol.state import is_request_row

ROWS_IN_PAGE: Final = 100


# Kinds of records that describe a row.
ROW_KINDS: Final = frozenset({"message", "messageText", "toolEnd"})


class RowPage(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Consecutive rows. All records about them, and about the ends of their calls, are in the `lines` of the log."""

    first_ts: int
    last_ts: int
    count: int
    lines: LineSpan


class RowPages(msgspec.Struct, frozen=True, kw_only=True):
    """Pages of rows, the usage of their requests, and the context sizes that may still be needed.

    `branch` are the record numbers that apply, if the session was rewound.
    """

    pages: tuple[RowPage, ...] = ()
    account: RequestAccount = RequestAccount()
    sizes: tuple[ContextSize, ...] = ()
    branch: tuple[RecordSpan, ...] = ()

    @property
    def count(self) -> int:
        return sum(page.count for page in self.pages)

    @property
    def last_ts(self) -> float:
        """The `ts` of the newest row; minus infinity without rows."""
        return self.pages[-1].last_ts if self.pages else float("-inf")


class RowsFound(msgspec.Struct, frozen=True, kw_only=True):
    """A page of rows with their calls, and the number of rows before it."""

    rows: tuple[Message, ...] = ()
    calls: tuple[EndedCall, ...] = ()
    older: int = 0


def with_rows(older: RowPages, rows: Sequence[tuple[Message, LineSpan]], branch: tuple[RecordSpan, ...]) -> RowPages:
    """The pages with these newer rows added."""
    batches = (rows[start : start + ROWS_IN_PAGE] for start in range(0, len(rows), ROWS_IN_PAGE))
    closed = closed_rows(row for row, _ in rows)
    sizes = [*older.sizes, *filter(None, map(context_size_of, closed))]
    # Only sizes from reductions can be undone, so those before the newest other size are never needed again.
    last = max((index for index, size in enumerate(sizes) if not size.reduction_id), default=0)
    return RowPages(
        pages=(*older.pages, *map(_page_of, batches)),
        account=counted(closed, older.account),
        sizes=tuple(sizes[last:]),
        branch=branch,
    )


def rows_before(log: Path, task_id: str, older: RowPages, before_ts: int, max_rows: int) -> RowsFound:
    """The newest of the older rows with a `ts` less than this, read from the log. Raises `LogUnreadable`, OSError."""
    rows: list[Message] = []
    calls: list[EndedCall] = []
    left = sum(page.count for page in older.pages if page.first_ts < before_ts)
    for page in reversed(older.pages):
        if len(rows) >= max_rows:
            break
        if page.first_ts < before_ts:
            reading = _PageReading(task_id, page)
            reading.read(log, older.branch)
            page_rows = reading.rows()
            left -= page.count
            rows[:0] = [row for row in page_rows if row.ts < before_ts]
            # The lines of two pages may overlap where calls ran concurrently.
            ended = with_cut_off(task_id, page_rows, reading.calls.ended)
            calls[:0] = [each for each in ended if page.first_ts <= each.row_ts <= page.last_ts]
    cut = max(0, len(rows) - max_rows)
    return RowsFound(rows=tuple(rows[cut:]), calls=tuple(calls), older=left + cut)


def _page_of(rows: Sequence[tuple[Message, LineSpan]]) -> RowPage:
    lines = joined_lines(span for _, span in rows)
    return RowPage(first_ts=rows[0][0].ts, last_ts=rows[-1][0].ts, count=len(rows), lines=lines)


def joined_lines(spans: Iterable[LineSpan]) -> LineSpan:
    """The range from the first to the last of these lines."""
    lines = tuple(spans)
    return LineSpan(min((span.start for span in lines), default=0), max((span.end for span in lines), default=0))


class _PageReading:
    """Reads the rows of a page and the ends of their calls from the log."""

    def __init__(self, task_id: str, page: RowPage) -> None:
        self._task_id = task_id
        self._page = page
        self._rows: dict[int, Message] = {}
        self.calls = CallEnds()

    def read(self, log: Path, branch: Sequence[RecordSpan]) -> None:
        """Read the lines. Raises `LogUnreadable`, OSError."""
        for grown in records_since(log, LogPosition(self._page.lines.start)):
            if grown.position.offset > self._page.lines.end:
                break
            if not branch or any(grown.record.seq in span for span in branch):
                self._take(grown.record)

    def rows(self) -> tuple[Message, ...]:
        """The rows in their order."""
        return closed_rows(self._rows[ts] for ts in sorted(self._rows))

    def _take(self, record: Record) -> None:
        payload = payload_of(record) if record.kind in ROW_KINDS else None
        match payload:
            case MessageRecord(task_id=task, message=row) if task == self._task_id:
                self.calls.row(row)
                if self._page.first_ts <= row.ts <= self._page.last_ts:
                    self._rows[row.ts] = row
            case MessageTextRecord(task_id=task, ts=ts) if task == self._task_id and ts in self._rows:
                row = self._rows[ts]
                self._rows[ts] = msgspec.structs.replace(row, text=(row.text or "") + payload.added)
            case ToolEndRecord(task_id=task) if task == self._task_id:
                self.calls.end(payload)
            case _:
                pass


def closed_rows(rows: Iterable[Message]) -> tuple[Message, ...]:
    """The rows, none of them streaming, so that no reader waits for more."""
    closed = (msgspec.structs.replace(row, partial=False, interrupted=True) if row.partial else row for row in rows)
    return tuple(_closed_request(row) if is_request_row(row) else row for row in closed)


def _closed_request(row: Message) -> Message:
    info = request_info(row.text)
    if info is None or "cost" in info:
        return row
    closing = {"cost": 0, "cancelReason": info.get("cancelReason", INTERRUPTED)}
    return msgspec.structs.replace(row, text=msgspec.json.encode({**info, **closing}).decode(), interrupted=True)
