"""What a session was about: the first thing somebody asked in it."""

from pathlib import Path
from typing import Final

from robota.log.kinds.conversation import MessageRecord
from robota.log.record import PayloadError, RecordFlaw, payload_of, unseal

# The prompt is the third record; a log that begins otherwise is not searched.
RECORDS_READ: Final = 8
LONGEST_RECORD: Final = 65_536


def first_prompt(log: Path) -> str:
    """The prompt on one line; empty if the log does not begin with a readable one."""
    try:
        with log.open("rb") as stream:
            lines = [stream.readline(LONGEST_RECORD) for _ in range(RECORDS_READ)]
    except OSError:
        return ""
    for line in lines:
        text = _said(line.rstrip(b"\n"))
        if text:
            return " ".join(text.split())
    return ""


def _said(line: bytes) -> str:
    record = unseal(line)
    if isinstance(record, RecordFlaw):
        return ""
    try:
        payload = payload_of(record)
    except PayloadError:
        return ""
    if not isinstance(payload, MessageRecord) or payload.message.say != "text":
        return ""
    return payload.message.text or ""
