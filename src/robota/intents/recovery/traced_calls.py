"""Records in the session log around each traced call, so that what a killed process changed can be traced later."""

import mmap
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, Final

import msgspec

from robota.intents.mutation_class import MutationClass
from robota.log.kinds.calls import CheckpointRecord, ToolStartRecord
from robota.log.kinds.session import OriginRecord
from robota.log.record import Payload, RecordFlaw, payload_of, record_kind, unseal

RELEVANT_LINE: Final = re.compile(
    rb'^{"seq":\d+,"ts":\d+,"kind":"(?:traceBegin|traceEnd|toolStart|checkpoint|origin)".*$', re.MULTILINE
)


@record_kind("traceBegin")
class TraceBeginRecord(Payload, frozen=True, kw_only=True):
    """A call that can change files may run now. What it changes belongs in the trace, with this origin.

    `before` has the hashes of the files that the call names, None for those that do not exist. With `is_opaque`, the
    call names no files and may change any.
    """

    outlives_rewind: ClassVar[bool] = True

    task_id: str
    call_id: str
    tool: str
    model: str
    intent_id: str
    approval: str
    revision: str | None = None
    declared: MutationClass | None = None
    is_opaque: bool = False
    before: Mapping[str, str | None] = {}


@record_kind("traceEnd")
class TraceEndRecord(Payload, frozen=True, kw_only=True):
    """Everything that the call changed is in the trace."""

    outlives_rewind: ClassVar[bool] = True

    call_id: str


class UntracedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that has started and whose changes may be missing in the trace.

    The checkpoints are those directly before and after it, None if the log has none.
    """

    begin: TraceBeginRecord
    has_started: bool = False
    checkpoint_before: str | None = None
    checkpoint_after: str | None = None


class TracedLog(msgspec.Struct, frozen=True, kw_only=True):
    """What a log says about the trace: the calls that may be missing there, oldest first, and its last checkpoint."""

    untraced: tuple[UntracedCall, ...] = ()
    last_checkpoint: CheckpointRecord | None = None


def read_traced_log(log: Path) -> TracedLog:
    """Read the records of a log that concern the trace. Damaged lines are skipped."""
    calls: dict[str, UntracedCall] = {}
    last_checkpoint = None
    for record in _relevant_records(log):
        match record:
            case OriginRecord() if record.session_id != log.parent.name:
                calls.clear()  # they are those of the session that this one was copied from
                last_checkpoint = None
            case TraceBeginRecord():
                calls.pop(record.call_id, None)
                calls[record.call_id] = UntracedCall(begin=record)
            case TraceEndRecord():
                calls.pop(record.call_id, None)
            case ToolStartRecord() if record.call_id in calls:
                calls[record.call_id] = msgspec.structs.replace(calls[record.call_id], has_started=True)
            case CheckpointRecord():
                last_checkpoint = record
                calls = {call_id: _with_checkpoint(call, record) for call_id, call in calls.items()}
    return TracedLog(
        untraced=tuple(call for call in calls.values() if call.has_started), last_checkpoint=last_checkpoint
    )


def _with_checkpoint(call: UntracedCall, record: CheckpointRecord) -> UntracedCall:
    if record.call_id == call.begin.call_id:
        return msgspec.structs.replace(call, checkpoint_before=call.checkpoint_before or record.checkpoint)
    if call.has_started:
        return msgspec.structs.replace(call, checkpoint_after=call.checkpoint_after or record.checkpoint)
    return call


def _relevant_records(log: Path) -> Iterator[Payload]:
    try:
        with log.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            for line in RELEVANT_LINE.finditer(data):
                record = unseal(line[0])
                if isinstance(record, RecordFlaw):
                    continue
                payload = payload_of(record)
                if payload is not None:
                    yield payload
    except (FileNotFoundError, ValueError):  # no log, or an empty one
        return
