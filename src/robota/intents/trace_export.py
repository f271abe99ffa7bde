"""Exports the trace as valid Agent Trace 0.1.0 records, including lines that older tools wrote in their format."""

import uuid
from collections.abc import Iterable, Iterator
from typing import Any, Final

from robota.intents.trace_record import TRACE_VERSION, VENDOR, decoded, ours_of

# Ids of other tools may not be UUIDs; a record gets the same derived UUID each time.
NAMESPACE: Final = uuid.UUID("7b0b8f6e-52f4-5c5e-9a52-6a1b0d3f4c11")


def exported(lines: Iterable[bytes], intent_id: str | None = None) -> Iterator[dict[str, Any]]:
    """The records of the trace, or only those of an intent. Local paths of logs are left out."""
    for line in lines:
        record = decoded(line)
        if record is None:
            continue
        ours = ours_of(record) or record
        if intent_id is None or ours.get("intent_id") == intent_id:
            yield _official(record, line)


def _official(record: dict[str, Any], line: bytes) -> dict[str, Any]:
    ours = ours_of(record)
    exported_record: dict[str, Any] = {
        "version": TRACE_VERSION,
        "id": record["id"]
        if _is_uuid(record.get("id"))
        else str(uuid.uuid5(NAMESPACE, line.decode("utf-8", "replace"))),
        "timestamp": record.get("timestamp") if isinstance(record.get("timestamp"), str) else "1970-01-01T00:00:00Z",
    }
    vcs = record.get("vcs")
    revision = (vcs.get("revision") or vcs.get("revision_id")) if isinstance(vcs, dict) else None
    if isinstance(revision, str):
        exported_record["vcs"] = {"type": "git", "revision": revision}
    if isinstance(tool := record.get("tool"), dict):
        exported_record["tool"] = tool
    exported_record["files"] = [_file(file, ours) for file in _list(record.get("files")) if isinstance(file, dict)]
    metadata = {VENDOR: ours} if ours else {VENDOR: {"intent_id": record.get("intent_id")}}
    return {**exported_record, "metadata": metadata}


def _file(file: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    written = (entry for entry in _list(file.get("conversations")) if isinstance(entry, dict))
    conversations = [_conversation(entry, ours) for entry in written]
    return {"path": str(file.get("path") or file.get("relative_path") or ""), "conversations": conversations}


def _conversation(conversation: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    written = conversation.get("contributor")
    contributor = written if isinstance(written, dict) else {}
    kind = str(contributor.get("type") or contributor.get("entity_type") or "unknown").lower()
    model = contributor.get("model_id") or contributor.get("model_identifier")
    session = ours.get("session_id")
    return {
        **({"url": f"urn:robota:session:{session}"} if isinstance(session, str) else {}),
        "contributor": {
            "type": kind if kind in ("human", "ai", "mixed") else "unknown",
            **({"model_id": model[:250]} if isinstance(model, str) else {}),
        },
        "ranges": [valid for each in _list(conversation.get("ranges")) if (valid := _range(each)) is not None],
        "related": [valid for each in _list(conversation.get("related")) if (valid := _related(each)) is not None],
    }


def _range(written: Any) -> dict[str, Any] | None:
    if not isinstance(written, dict):
        return None
    start, end = written.get("start_line"), written.get("end_line")
    if not isinstance(start, int) or not isinstance(end, int) or not 1 <= start <= end:
        return None
    hashed = written.get("content_hash")
    is_bare = isinstance(hashed, str) and ":" not in hashed
    more = {"content_hash": f"sha256:{hashed}" if is_bare else hashed} if isinstance(hashed, str) else {}
    return {"start_line": start, "end_line": end, **more}


def _related(written: Any) -> dict[str, Any] | None:
    if not isinstance(written, dict) or not isinstance(written.get("type"), str):
        return None
    url = written.get("url") or (f"urn:intent:{value}" if isinstance(value := written.get("value"), str) else None)
    return {"type": written["type"], "url": url} if isinstance(url, str) else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_uuid(value: Any) -> bool:
    try:
        return isinstance(value, str) and str(uuid.UUID(value)) == value
    except ValueError:
        return False
