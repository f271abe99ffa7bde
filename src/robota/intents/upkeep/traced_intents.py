"""The files, sessions and approvals of each intent, from the trace. Compatible records of other tools count."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from robota.intents.trace_record import decoded, ours_of


class TracedFile(msgspec.Struct, frozen=True, kw_only=True):
    """The newest state of a file in the trace."""

    path: str
    operation: str = "edit"
    at: str = ""
    mutation_class: str = ""
    content_hash: str = ""
    is_in_scope: bool = True


class TracedIntent(msgspec.Struct, kw_only=True):
    """Everything that was recorded for an intent."""

    files: dict[str, TracedFile] = {}
    sessions: set[str] = set()
    approved: set[tuple[str, str]] = set()
    records: int = 0


def traced_intents(lines: Iterable[bytes]) -> dict[str, TracedIntent]:
    """The traced intents by id. Lines that are not records are skipped."""
    traced: dict[str, TracedIntent] = {}
    for line in lines:
        record = decoded(line)
        if record is not None:
            _take(record, traced)
    return traced


def _take(record: dict[str, Any], by_id: dict[str, TracedIntent]) -> None:
    ours = ours_of(record)
    id = (ours or record).get("intent_id")
    if not isinstance(id, str):
        return
    traced = by_id.setdefault(id, TracedIntent(files={}, sessions=set(), approved=set()))
    traced.records += 1
    session, call = _text_or_empty(ours.get("session_id")), _text_or_empty(ours.get("tool_use_id"))
    if session:
        traced.sessions.add(session)
    if ours.get("approval") == "user":
        traced.approved.add((session, call))
    for path in _paths(record):
        traced.files.pop(path, None)  # the newest are last
        traced.files[path] = TracedFile(
            path=path,
            operation=_text_or_empty(ours.get("op")) or "edit",
            at=_text_or_empty(record.get("timestamp")),
            mutation_class=_text_or_empty((ours or record).get("mutation_class")),
            content_hash=_text_or_empty(ours.get("after_hash")),
            is_in_scope=ours.get("in_scope") is not False,
        )


def _paths(record: dict[str, Any]) -> Iterator[str]:
    files = record.get("files")
    for file in files if isinstance(files, list) else []:
        path = (file.get("path") or file.get("relative_path")) if isinstance(file, dict) else None
        if isinstance(path, str):
            yield path


def _text_or_empty(value: Any) -> str:
    return value if isinstance(value, str) else ""
