"""Partially decoded rows for readers of whole logs: most records are rows, and most of their fields are not needed."""

from typing import Final

import msgspec

from robota.log.record import Record


class RowGlance(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A row with only the fields that are decoded."""

    ts: int
    ask: str | None = None
    say: str | None = None
    text: str | None = None
    partial: bool | None = None
    is_answered: bool | None = None
    interrupted: bool | None = None


class GlancedRow(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A row and its task."""

    task_id: str
    message: RowGlance


_ROWS: Final = msgspec.json.Decoder(GlancedRow)


def glanced_row(record: Record) -> GlancedRow | None:
    """The row in a record of the kind `message`; None if it is unreadable."""
    try:
        return _ROWS.decode(record.payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
