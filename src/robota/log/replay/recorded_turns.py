"""All recorded turns of a task, including those that the model no longer gets."""

from contextlib import suppress
from pathlib import Path

from robota.log.kinds.calls import ResultRecord
from robota.log.kinds.conversation import TurnRecord
from robota.log.record import PayloadError, payload_of
from robota.log.replay.present_records import present_records
from robota.log.replay.session import NOWHERE
from robota.log.replay.task import TaskFold
from robota.protocol.conversation import Turn


def recorded_turns(log: Path, task_id: str) -> tuple[Turn, ...]:
    """The turns of the present branch; nothing else is held in memory. Raises `LogUnreadable`, OSError."""
    task = TaskFold(task_id)
    for record in present_records(log):
        if record.kind in ("turn", "result"):
            with suppress(PayloadError):
                payload = payload_of(record)
                if isinstance(payload, TurnRecord | ResultRecord) and payload.task_id == task_id:
                    task.take(payload, NOWHERE)
    return tuple(task.turns)
