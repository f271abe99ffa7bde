"""One line of `agent_trace.jsonl`: an Agent Trace 0.1.0 record, with Robota's own fields under `metadata`."""

from datetime import UTC, datetime
from difflib import SequenceMatcher
from hashlib import sha256
from typing import Any, Final

import msgspec

from robota.intents.mutation_class import ClassifiedChange
from robota.text.visible import as_utf8
from robota.version import VERSION

TRACE_VERSION: Final = "0.1.0"
VENDOR: Final = "dev.robota"
FIRST: Final = "sha256:" + "0" * 64
# Larger pieces are not compared line by line, which takes quadratic time.
MAX_COMPARED: Final = 2_000
MAX_RANGES: Final = 100


class TracedLines(msgspec.Struct, frozen=True, kw_only=True):
    """A range of lines after a call, counted from 1, and the hash of its content."""

    start_line: int
    end_line: int
    content_hash: str


class TracedChange(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a call changed. The hashes are None where it did not exist."""

    path: str
    before_hash: str | None
    after_hash: str | None
    lines: tuple[TracedLines, ...] = ()
    kind: ClassifiedChange | None = None

    @property
    def operation(self) -> str:
        if self.before_hash is None:
            return "create"
        return "delete" if self.after_hash is None else "edit"


class TraceOrigin(msgspec.Struct, frozen=True, kw_only=True):
    """Who made a change: the session, the model, the call and the intent; at which commit, and who approved it.

    `is_found_later`: the call was cut off, so what others changed before it was traced may be among its changes.
    """

    session_id: str
    log_url: str
    model: str
    call_id: str
    tool: str
    intent_id: str
    approval: str  # in_scope or user
    is_in_scope: bool = True
    revision: str | None = None
    is_found_later: bool = False


class TraceLink(msgspec.Struct, frozen=True, kw_only=True):
    """The link of a record to the trace: its number, and the hash of the line before it."""

    number: int
    previous: str


def timestamp() -> str:
    """The current time in the format of records."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def trace_record(id: str, timestamp: str, change: TracedChange, origin: TraceOrigin, link: TraceLink) -> dict[str, Any]:
    """The record of one change."""
    conversation = {
        "url": origin.log_url,
        "contributor": {"type": "ai", "model_id": origin.model[:250]},
        "ranges": [msgspec.to_builtins(lines) for lines in change.lines],
        "related": [{"type": "specification", "url": f"urn:intent:{origin.intent_id}"}],
    }
    vcs = {} if origin.revision is None else {"vcs": {"type": "git", "revision": origin.revision}}
    return {
        "version": TRACE_VERSION,
        "id": id,
        "timestamp": timestamp,
        **vcs,
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
                **({} if change.kind is None else _kind_of(change.kind)),
                "approval": origin.approval,
                "in_scope": origin.is_in_scope,
                **({"found_later": True} if origin.is_found_later else {}),
                "number": link.number,
                "prev_record_hash": link.previous,
            }
        },
    }


def _kind_of(kind: ClassifiedChange) -> dict[str, Any]:
    return {
        "mutation_class": kind.checked,
        "declared_class": kind.declared,
        "classifier": "syntax tree" if kind.is_known else "default",
    }


def ours_of(record: dict[str, Any]) -> dict[str, Any]:
    """Robota's own fields of a record; empty if another tool wrote it."""
    metadata = record.get("metadata")
    ours = metadata.get(VENDOR) if isinstance(metadata, dict) else None
    return ours if isinstance(ours, dict) else {}


def decoded(line: bytes) -> dict[str, Any] | None:
    """A line of the trace as an object; None if it is not one."""
    try:
        record = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def content_hash(data: bytes) -> str:
    """The hash of bytes, as records write it."""
    return f"sha256:{sha256(data).hexdigest()}"


def changed_between(path: str, before: bytes | None, after: bytes | None) -> TracedChange | None:
    """The change of a file and the changed lines; None if it is unchanged."""
    if before == after:
        return None
    hashes = [None if data is None else content_hash(data) for data in (before, after)]
    change = TracedChange(path=as_utf8(path), before_hash=hashes[0], after_hash=hashes[1])
    if not after:
        return change
    old, new = (before or b"").splitlines(keepends=True), after.splitlines(keepends=True)
    spans = _changed_lines(old, new)
    if len(spans) > MAX_RANGES:
        spans = [(spans[0][0], spans[-1][1])]
    return msgspec.structs.replace(change, lines=tuple(_lines(new, start, end) for start, end in spans))


def _lines(new: list[bytes], start: int, end: int) -> TracedLines:
    """The changed lines. For a pure deletion it is the line that is now there."""
    first = min(start, len(new) - 1)
    last = max(end, first + 1)
    hashed = content_hash(b"".join(new[first:last]))
    return TracedLines(start_line=first + 1, end_line=last, content_hash=hashed)


def _changed_lines(old: list[bytes], new: list[bytes]) -> list[tuple[int, int]]:
    """The ranges of `new` that are not in `old`, from 0 on, end excluded."""
    first, most = 0, min(len(old), len(new))
    while first < most and old[first] == new[first]:
        first += 1
    same = 0
    while same < most - first and old[-1 - same] == new[-1 - same]:
        same += 1
    middle = old[first : len(old) - same], new[first : len(new) - same]
    if max(map(len, middle)) > MAX_COMPARED or not all(middle):
        return [(first, len(new) - same)]
    blocks = SequenceMatcher(None, *middle, autojunk=False).get_opcodes()
    return [(first + start, first + end) for kind, _, _, start, end in blocks if kind != "equal"]
