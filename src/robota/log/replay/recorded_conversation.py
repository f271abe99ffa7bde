"""The whole conversation of a task, including what the model does not get any more."""

from contextlib import suppress
from pathlib import Path
from typing import Final

from robota.log.kinds.calls import ResultRecord
from robota.log.kinds.conversation import CondenseRecord, CutRecord, RestoreRecord, TruncateRecord, TurnRecord
from robota.log.record import PayloadError, payload_of
from robota.log.replay.context import RecordedConversation
from robota.log.replay.present_records import present_records
from robota.log.replay.session import NOWHERE
from robota.log.replay.task import TaskFold

KINDS: Final = frozenset({"turn", "result", "condense", "truncate", "cut", "restore"})


def recorded_conversation(log: Path, task_id: str) -> RecordedConversation:
    """The turns and reductions of the present branch; nothing else is held. Raises `LogUnreadable`, OSError."""
    task = TaskFold(task_id)
    for record in present_records(log):
        if record.kind in KINDS:
            with suppress(PayloadError):
                payload = payload_of(record)
                assert isinstance(
                    payload, TurnRecord | ResultRecord | CondenseRecord | TruncateRecord | CutRecord | RestoreRecord
                )
                if payload.task_id == task_id:
                    task.take(payload, NOWHERE)
    return RecordedConversation(turns=tuple(task.turns), reductions=tuple(task.reductions))
