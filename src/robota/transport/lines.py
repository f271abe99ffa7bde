"""Lines over a byte stream: whole, in order, and none longer than the protocol allows."""

from asyncio import StreamReader
from collections.abc import AsyncIterator
from typing import Final

import msgspec

from robota.protocol.codec import encode
from robota.protocol.connection.lines import MAX_LINE_BYTES, LineProblem
from robota.protocol.events import Event, Notice, State

CHUNK_BYTES: Final = 64 * 1024
TOO_LONG: Final = LineProblem(
    code="line_too_long",
    message=f"This line has more than {MAX_LINE_BYTES // (1024 * 1024)} MB and was ignored; nothing was changed.",
)


async def read_lines(stream: StreamReader) -> AsyncIterator[bytes | LineProblem]:
    """The lines of a stream until it ends.

    Blank lines are skipped, and a line that is too long is replaced by a problem. The last line need not end with a
    newline.
    """
    parts: list[bytes] = []
    size, is_skipping = 0, False
    while chunk := await stream.read(CHUNK_BYTES):
        *ended, rest = chunk.split(b"\n")
        for end in ended:
            line = b"".join((*parts, end))
            parts, size = [], 0
            if not is_skipping and line.strip():
                yield line if len(line) <= MAX_LINE_BYTES else TOO_LONG
            is_skipping = False
        if rest and not is_skipping:
            parts.append(rest)
            size += len(rest)
            if size > MAX_LINE_BYTES:
                parts, size, is_skipping = [], 0, True
                yield TOO_LONG
    line = b"".join(parts)
    if line.strip():
        yield line


def event_line(event: Event) -> bytes:
    """An event as a line. A state that is too long loses its oldest rows, another event is replaced by a notice."""
    line = encode(event)
    if len(line) < MAX_LINE_BYTES:
        return line
    if isinstance(event, State) and event.state.cline_messages:
        return event_line(_with_fewer_rows(event))
    kind = event.__struct_config__.tag
    text = f"An event of type {kind} was left out, because it has more than {MAX_LINE_BYTES} bytes."
    return encode(Notice(seq=event.seq, level="warning", text=text))


def _with_fewer_rows(event: State) -> State:
    rows = event.state.cline_messages
    dropped = (len(rows) + 1) // 2
    state = msgspec.structs.replace(
        event.state, cline_messages=rows[dropped:], older_rows=event.state.older_rows + dropped, calls=()
    )
    return msgspec.structs.replace(event, state=state)
