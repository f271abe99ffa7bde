"""A stored conversation as updates, for an editor that loads it."""

from collections.abc import Iterable, Iterator, Sequence

from robota.clients.acp.calls import content_of, kind_of, locations_of, status_of, text_content
from robota.clients.acp.updates import CallAnnounced, KnownUpdate, prompted, said, thought
from robota.protocol.calls import SPEAKING, PastCall
from robota.protocol.message import SPOKEN, Message


def replayed(rows: Sequence[Message], calls: Iterable[PastCall], cwd: str, *, is_start: bool) -> Iterator[KnownUpdate]:
    """The rows with their calls. `is_start`: the first row is the prompt with which the task began."""
    after: dict[int, list[PastCall]] = {}
    for call in calls:
        after.setdefault(call.after, []).append(call)
    for index, row in enumerate(rows):
        yield from _row(row, is_prompt=is_start and index == 0)
        for call in after.get(row.ts, ()):
            yield from _call(call, cwd)


def _row(row: Message, *, is_prompt: bool) -> Iterator[KnownUpdate]:
    text = row.text or ""
    if is_prompt or row.say == "user_feedback":
        yield prompted(text)
    elif row.say in SPOKEN and text:
        yield said(text)
    elif row.say == "reasoning" and text:
        yield thought(text)


def _call(call: PastCall, cwd: str) -> Iterator[KnownUpdate]:
    if call.purpose in SPEAKING:
        return
    content = content_of(call.view, cwd)
    if call.status != "success" and call.reason:
        content = (*content, text_content(call.reason))
    yield CallAnnounced(
        tool_call_id=call.call_id,
        title=call.title,
        kind=kind_of(call.title),
        status=status_of(call.status),
        content=content,
        locations=locations_of({}, call.view, cwd),
    )
