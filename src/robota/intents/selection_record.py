"""The intent that a task works on, in the log of its session: so that a session which is taken up can go on with it."""

import mmap
from pathlib import Path
from typing import ClassVar, Final

import msgspec

from robota.log.record import Payload, record_kind

KIND: Final = "intent"
MARK: Final = b'"kind":"intent"'


@record_kind(KIND)
class IntentRecord(Payload, frozen=True, kw_only=True):
    """A task has selected an intent; None: what it had selected holds no more."""

    outlives_rewind: ClassVar[bool] = True

    task_id: str
    intent_id: str | None


class _Line(msgspec.Struct, frozen=True):
    kind: str
    payload: msgspec.Raw


def last_selection(log: Path, task_id: str) -> str | None:
    """What the task had selected last. It is looked for from the end of the log, and only where it is needed."""
    try:
        with log.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _found(data, task_id)
    except (OSError, ValueError):  # no log, or an empty one
        return None


def _found(data: mmap.mmap, task_id: str) -> str | None:
    place = data.rfind(MARK)
    while place >= 0:
        start = data.rfind(b"\n", 0, place) + 1
        end = data.find(b"\n", place)
        record = _decoded(data[start : end if end >= 0 else len(data)])
        if record is not None and record.task_id == task_id:
            return record.intent_id
        place = data.rfind(MARK, 0, start)
    return None


def _decoded(line: bytes) -> IntentRecord | None:
    """The same words may stand in what somebody said."""
    try:
        record = msgspec.json.decode(line, type=_Line)
        return IntentRecord.from_json(record.payload) if record.kind == KIND else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
