"""Records the selected intent in the session log, so that a resumed session continues with it."""

import mmap
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, Final

import msgspec

from robota.intents.selection import SelectionMemory
from robota.log.chain.writer import SessionLog
from robota.log.errors import LogError
from robota.log.record import Payload, record_kind

KIND: Final = "intent"
MARK: Final = b'"kind":"intent"'


@record_kind(KIND)
class IntentRecord(Payload, frozen=True, kw_only=True):
    """A task has selected an intent; None ends the selection."""

    outlives_rewind: ClassVar[bool] = True

    task_id: str
    intent_id: str | None


def selections_in(log: SessionLog) -> SelectionMemory:
    """The memory of selections that a session log is."""

    def note(task_id: str, intent_id: str | None) -> None:
        with suppress(LogError):
            log.append(IntentRecord(task_id=task_id, intent_id=intent_id))

    return SelectionMemory(recall=lambda task_id: last_selection(log.path, task_id), note=note)


class _Line(msgspec.Struct, frozen=True):
    kind: str
    payload: msgspec.Raw


def last_selection(log: Path, task_id: str) -> str | None:
    """The last selection of a task, searched from the end of the log."""
    try:
        with log.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _newest_selection(data, task_id)
    except (OSError, ValueError):  # no log, or an empty one
        return None


def _newest_selection(data: mmap.mmap, task_id: str) -> str | None:
    position = data.rfind(MARK)
    while position >= 0:
        start = data.rfind(b"\n", 0, position) + 1
        end = data.find(b"\n", position)
        record = _decoded(data[start : end if end >= 0 else len(data)])
        if record is not None and record.task_id == task_id:
            return record.intent_id
        position = data.rfind(MARK, 0, start)
    return None


def _decoded(line: bytes) -> IntentRecord | None:
    """The record in a line; None if only its text looks like one."""
    try:
        record = msgspec.json.decode(line, type=_Line)
        return IntentRecord.from_json(record.payload) if record.kind == KIND else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
