"""One line of `agent_trace.jsonl`: a record of Agent Trace 0.1.0, with what is ours under `metadata`."""

from hashlib import sha256
from typing import Any, Final

import msgspec

from robota.version import VERSION

TRACE_VERSION: Final = "0.1.0"
VENDOR: Final = "dev.robota"
FIRST: Final = "sha256:" + "0" * 64


class TracedChange(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a call changed. The hashes are None where it did not exist; lines count from 1."""

    path: str
    before_hash: str | None
    after_hash: str | None
    start_line: int = 0
    end_line: int = 0
    range_hash: str | None = None

    @property
    def operation(self) -> str:
        if self.before_hash is None:
            return "create"
        return "delete" if self.after_hash is None else "edit"


class TraceOrigin(msgspec.Struct, frozen=True, kw_only=True):
    """Who made a change: the session, the model, the call and the intent; and who approved it."""

    session_id: str
    log_url: str
    model: str
    call_id: str
    tool: str
    intent_id: str
    approval: str  # in_scope or user
    is_in_scope: bool = True


class TraceLink(msgspec.Struct, frozen=True, kw_only=True):
    """How a record is tied to the trace: its number, and the hash of the line before it."""

    number: int
    previous: str


def trace_record(id: str, timestamp: str, change: TracedChange, origin: TraceOrigin, link: TraceLink) -> dict[str, Any]:
    """The record of one change."""
    ranges = [{"start_line": change.start_line, "end_line": change.end_line, "content_hash": change.range_hash}]
    conversation = {
        "url": origin.log_url,
        "contributor": {"type": "ai", "model_id": origin.model[:250]},
        "ranges": ranges if change.start_line else [],
        "related": [{"type": "specification", "url": f"urn:intent:{origin.intent_id}"}],
    }
    return {
        "version": TRACE_VERSION,
        "id": id,
        "timestamp": timestamp,
        "tool": {"name": "robota", "version": VERSION},
        "files": [{"path": change.path, "conversations": [conversation]}],
        "metadata": {
            VENDOR: {
                "intent_id": origin.intent_id,
                "session_id": origin.session_id,
                "tool_use_id": origin.call_id,
                "tool": origin.tool,
                "op": change.operation,
                "before_hash": change.before_hash,
                "after_hash": change.after_hash,
                "approval": origin.approval,
                "in_scope": origin.is_in_scope,
                "number": link.number,
                "prev_record_hash": link.previous,
            }
        },
    }


def ours_of(record: dict[str, Any]) -> dict[str, Any]:
    """What is ours in a record; nothing if another tool wrote it."""
    metadata = record.get("metadata")
    ours = metadata.get(VENDOR) if isinstance(metadata, dict) else None
    return ours if isinstance(ours, dict) else {}


def decoded(line: bytes) -> dict[str, Any] | None:
    """A line of the trace as an object; None if it is none."""
    try:
        record = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def content_hash(data: bytes) -> str:
    """The hash of bytes, as records write it."""
    return f"sha256:{sha256(data).hexdigest()}"


def changed_between(path: str, before: bytes | None, after: bytes | None) -> TracedChange | None:
    """What happened to a file: the lines from the first to the last that differ; None if nothing did."""
    if before == after:
        return None
    hashes = [None if data is None else content_hash(data) for data in (before, after)]
    change = TracedChange(path=path, before_hash=hashes[0], after_hash=hashes[1])
    if not after:
        return change
    old, new = (before or b"").splitlines(keepends=True), after.splitlines(keepends=True)
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    end = 0
    while end < min(len(old), len(new)) - first and old[-1 - end] == new[-1 - end]:
        end += 1
    # Where lines were only taken out, the record points at the line that now stands there.
    last = max(len(new) - end, first + 1)
    start = min(first + 1, len(new))
    last = min(last, len(new))
    return msgspec.structs.replace(
        change, start_line=start, end_line=last, range_hash=content_hash(b"".join(new[start - 1 : last]))
    )
