"""What each request of a session was made of besides its turns, read from the log alone."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from robota.log.kinds.conversation import MessageRecord
from robota.log.kinds.requests import ContentRecord, RequestRecord
from robota.log.record import PayloadError, Record, payload_of
from robota.protocol.state import is_request_row


class RecordedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request, by the `ts` of its row. `tools` are as the model was told of them; empty if none were offered."""

    ts: int
    task_id: str
    model: str
    system: str
    tools: list[dict[str, Any]]
    context_window: int = 0
    condense_at: int | None = None


def recorded_requests(records: Iterable[Record], artifact: Callable[[str], bytes]) -> list[RecordedRequest]:
    """Every request of the session in order. `artifact` reads a large text by its name beside the log.

    A request of an older log that does not say what it was made of is left out. Raises `ArtifactMissing`.
    """
    contents: dict[str, str | None] = {}
    made_of: dict[str, RequestRecord] = {}
    requests: dict[int, RecordedRequest] = {}

    def text_of(name: str) -> str:
        known = contents.get(name)
        return artifact(name).decode() if known is None else known

    for record in records:
        try:
            payload = payload_of(record)
        except PayloadError:
            continue
        if isinstance(payload, ContentRecord):
            contents[payload.hash] = payload.text
        elif isinstance(payload, RequestRecord):
            made_of[payload.task_id] = payload
        elif isinstance(payload, MessageRecord) and is_request_row(payload.message) and payload.task_id in made_of:
            row, parts = payload.message, made_of[payload.task_id]
            if row.ts not in requests:
                requests[row.ts] = RecordedRequest(
                    ts=row.ts,
                    task_id=payload.task_id,
                    model=parts.model,
                    system=text_of(parts.system),
                    tools=msgspec.json.decode(text_of(parts.tools)),
                    context_window=parts.context_window,
                    condense_at=parts.condense_at,
                )
    return list(requests.values())
