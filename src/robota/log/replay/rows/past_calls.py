"""The ended calls of a task for clients, from their end records and rows."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from robota.log.kinds.calls import ToolEndRecord
from robota.protocol.calls import PastCall
from robota.protocol.message import Message
from robota.protocol.seed_calls import is_call_row, title_in, view_in_row
from robota.protocol.views import DiffsView, DiffView, TerminalView, View

INTERRUPTED: Final = "interrupted"


class EndedCall(msgspec.Struct, frozen=True, kw_only=True, gc=False, eq=False):
    """The end of a call among the rows of its task. `row_ts` is its last row, `after` the newest row at its end.

    A call without a row belongs to the newest row.
    """

    row_ts: int
    after: int
    record: ToolEndRecord


class CallEnds(msgspec.Struct):
    """Places the ends of calls among the rows of a task as both arrive.

    `open_rows` are those of calls without an end.
    """

    ended: list[EndedCall] = []
    newest_row: int | None = None
    open_rows: dict[str, list[int]] = {}

    def row(self, row: Message) -> None:
        """Add a row; updates of earlier rows are ignored."""
        if self.newest_row is None or row.ts > self.newest_row:
            self.newest_row = row.ts
            if row.call_id is not None:
                self.open_rows.setdefault(row.call_id, []).append(row.ts)

    def end(self, record: ToolEndRecord) -> Sequence[int]:
        """Add the end of a call. Returns the rows that it belongs to; none if they are unknown."""
        rows = self.open_rows.pop(record.call_id, [])
        if record.after:
            self.ended.append(placed(record))
            return rows or [record.row or record.after]
        if rows and self.newest_row is not None:  # from an older version
            self.ended.append(EndedCall(row_ts=rows[-1], after=self.newest_row, record=record))
        return rows

    def drop_until(self, last_ts: int) -> None:
        """Drop the ended calls of the rows up to this one."""
        self.ended = [each for each in self.ended if each.row_ts > last_ts]


def placed(record: ToolEndRecord) -> EndedCall:
    """The end of a call whose record says where it belongs."""
    return EndedCall(row_ts=record.row or record.after, after=record.after, record=record)


def with_cut_off(task_id: str, rows: Iterable[Message], ended: Sequence[EndedCall]) -> tuple[EndedCall, ...]:
    """The ends, plus one for each started call without an end, because the session is not running now."""
    ends = _newest_ends(ended)
    cut_off: dict[str, EndedCall] = {}
    for row in rows:
        if row.call_id is None or row.ts <= ends.get(row.call_id, 0):
            continue
        if is_call_row(row) or row.call_id in cut_off:  # its output follows the row of the call
            record = ToolEndRecord(task_id=task_id, call_id=row.call_id, tool="", status=INTERRUPTED, duration_ms=0)
            cut_off[row.call_id] = EndedCall(row_ts=row.ts, after=row.ts, record=record)
    return (*ended, *cut_off.values())


def _newest_ends(ended: Iterable[EndedCall]) -> dict[str, int]:
    """The end of the newest call of each id, because some models reuse ids."""
    return {each.record.call_id: each.after for each in ended}


def past_calls(rows: Iterable[Message], ended: Iterable[EndedCall]) -> tuple[PastCall, ...]:
    """The calls whose last row is among these, in the order of their ends."""
    stamps: set[int] = set()
    rows_of_call: dict[str, list[Message]] = {}
    for row in rows:
        stamps.add(row.ts)
        if row.call_id is not None:
            rows_of_call.setdefault(row.call_id, []).append(row)
    rows_of_end: dict[EndedCall, list[Message]] = {}
    newest: dict[str, EndedCall] = {}
    for each in sorted(ended, key=lambda each: each.after):
        call_id, before = each.record.call_id, newest.get(each.record.call_id)
        start = 0 if before is None else before.after
        own = [row for row in rows_of_call.get(call_id, ()) if start < row.ts <= each.after]
        if before is not None and before.record.status == INTERRUPTED and not any(map(is_call_row, own)):
            own = [*rows_of_end.pop(before, ()), *own]  # it needed approval, and ran after the session was resumed
        if each.row_ts in stamps:
            rows_of_end[each] = own
        newest[call_id] = each
    calls = (_past_call(each, own) for each, own in rows_of_end.items())
    return tuple(call for call in calls if call is not None)


def _past_call(ended: EndedCall, rows: Sequence[Message]) -> PastCall | None:
    """The call; None if its name is neither in the record, as in older versions, nor in a row."""
    record = ended.record
    first = next((row for row in rows if is_call_row(row)), None)
    error = next((row.text for row in rows if row.say == "error"), None)
    title = record.title or (record.tool if first is None and error else "" if first is None else title_in(first))
    if not title:
        return None
    return PastCall(
        call_id=record.call_id,
        after=ended.after,
        title=title,
        status=record.status,
        purpose=record.purpose,
        duration_ms=record.duration_ms,
        reason=record.reason or error,
        view=_whole(record, first, rows),
    )


def _whole(record: ToolEndRecord, first: Message | None, rows: Sequence[Message]) -> View | None:
    """The view, including the fields that the record omits because the rows have them."""
    kept = record.view
    match kept:
        case DiffView(hunks=()) | DiffsView() if first is not None:
            return _with_hunks(kept, view_in_row(first))
        case TerminalView(output=""):
            return msgspec.structs.replace(kept, output=_output(rows))
        case None if first is not None and not record.title:
            shown = view_in_row(first)
            return (
                TerminalView(command=shown.command, output=_output(rows)) if isinstance(shown, TerminalView) else shown
            )
        case _:
            return kept


def _with_hunks(kept: DiffView | DiffsView, shown: View | None) -> View:
    match kept, shown:
        case DiffView(), DiffView():
            return msgspec.structs.replace(kept, hunks=shown.hunks)
        case DiffsView(), DiffsView() if len(kept.files) == len(shown.files):
            pairs = zip(kept.files, shown.files, strict=True)
            files = tuple(msgspec.structs.replace(file, hunks=file.hunks or other.hunks) for file, other in pairs)
            return msgspec.structs.replace(kept, files=files)
        case _:
            return kept


def _output(rows: Sequence[Message]) -> str:
    return next((row.text or "" for row in reversed(rows) if row.say == "command_output"), "")
