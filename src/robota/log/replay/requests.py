"""The system prompt, tools and parameters of each request, read from the log."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from robota.log.chain.growth import records_of
from robota.log.kinds.conversation import MessageRecord
from robota.log.kinds.requests import ContentRecord, RequestRecord
from robota.log.record import Record, payload_of
from robota.protocol.state import is_request_row


class RecordedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request, by the `ts` of its row. `tools` are the definitions that the model got."""

    ts: int
    task_id: str
    model: str
    system: str
    tools: list[dict[str, Any]]
    context_window: int = 0
    condense_at: int | None = None


def newest_request(log: Path, task_id: str, artifact: Callable[[str], bytes]) -> RecordedRequest | None:
    """The parameters of the last request of a task, without loading the whole log; None if there is none.

    Raises `ArtifactMissing`, `LogUnreadable`, OSError.
    """
    contents: dict[str, str | None] = {}
    parts: RequestRecord | None = None
    ts = 0
    for record in records_of(log, ("content", "request")):
        payload = payload_of(record)
        if isinstance(payload, ContentRecord):
            contents[payload.hash] = payload.text
        elif isinstance(payload, RequestRecord) and payload.task_id == task_id:
            parts, ts = payload, record.ts
    return None if parts is None else _made_of(parts, ts, contents, artifact)


def _made_of(
    parts: RequestRecord, ts: int, contents: Mapping[str, str | None], artifact: Callable[[str], bytes]
) -> RecordedRequest:
    def text_of(name: str) -> str:
        text = contents.get(name)
        return artifact(name).decode() if text is None else text

    return RecordedRequest(
        ts=ts,
        task_id=parts.task_id,
        model=parts.model,
        system=text_of(parts.system),
        tools=msgspec.json.decode(text_of(parts.tools)),
        context_window=parts.context_window,
        condense_at=parts.condense_at,
    )


def recorded_requests(records: Iterable[Record], artifact: Callable[[str], bytes]) -> list[RecordedRequest]:
    """Every request of the session in order. `artifact` reads a large text by its name.

    Requests of older logs, which do not record their parameters, are skipped. Raises `ArtifactMissing`.
    """
    contents: dict[str, str | None] = {}
    made_of: dict[str, RequestRecord] = {}
    requests: dict[int, RecordedRequest] = {}
    for record in records:
        payload = payload_of(record)
        if isinstance(payload, ContentRecord):
            contents[payload.hash] = payload.text
        elif isinstance(payload, RequestRecord):
            made_of[payload.task_id] = payload
        elif isinstance(payload, MessageRecord) and is_request_row(payload.message) and payload.task_id in made_of:
            row, parts = payload.message, made_of[payload.task_id]
            if row.ts not in requests:
                requests[row.ts] = _made_of(parts, row.ts, contents, artifact)
    return list(requests.values())
