"""Closes the rows of a session that no process runs: rows that were streaming become interrupted."""

from collections.abc import Iterable
from typing import Final

import msgspec

from robota.log.replay.request_account import request_info
from robota.protocol.message import Message
from robota.protocol.state import is_request_row

INTERRUPTED: Final = "interrupted"


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
