"""Server-sent events: from bytes as they arrive to the data of each event."""

from typing import Final

from robota.providers.fault import FaultKind, ProviderFault

MAX_EVENT_BYTES: Final = 32 * 1024 * 1024
BOM: Final = b"\xef\xbb\xbf"


class SseFrames:
    """Cuts a byte stream into the data of its events, wherever the reads happened to split it.

    Comments, event names and ids are skipped: a ping gives no payload, and it is the arrival of its bytes
    that keeps the connection's idle timer from striking.
    """

    def __init__(self) -> None:
        self._tail = b""
        self._at_start = True
        self._ended_with_cr = False

    def feed(self, data: bytes) -> list[bytes]:
        """The payloads of the events that these bytes complete."""
        if b"\r" in data or self._ended_with_cr:
            data = self._with_plain_newlines(data)
        pending = self._tail + data if self._tail else data
        if self._at_start:
            if len(pending) < len(BOM) and BOM.startswith(pending):
                self._tail = pending
                return []
            self._at_start = False
            pending = pending.removeprefix(BOM)
        blocks = pending.split(b"\n\n")
        self._tail = blocks.pop()
        if len(self._tail) > MAX_EVENT_BYTES:
            raise ProviderFault(FaultKind.STREAM_CUT, "The model server sent one event of over 32 MB. It was dropped.")
        return _payloads(blocks)

    def finish(self) -> list[bytes]:
        """What an event without its closing empty line held; some servers end so."""
        tail, self._tail = self._tail, b""
        return _payloads([tail])

    def _with_plain_newlines(self, data: bytes) -> bytes:
        if not data:
            return data
        if self._ended_with_cr and data.startswith(b"\n"):
            data = data[1:]
        self._ended_with_cr = data.endswith(b"\r")
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _payloads(blocks: list[bytes]) -> list[bytes]:
    payloads = []
    for block in blocks:
        # Nearly every event is this one line, with or without its name; the general case costs ten times as much.
        if block.startswith(b"data: ") and b"\n" not in block:
            payloads.append(block[6:])
        elif block.startswith(b"event: ") and block.count(b"\n") == 1 and b"\ndata: " in block:
            payloads.append(block[block.index(b"\n") + 7 :])
        elif block:
            payload = _data_of(block)
            if payload is not None:
                payloads.append(payload)
    return payloads


def _data_of(block: bytes) -> bytes | None:
    """The data lines of an event, joined; None if it has none."""
    lines = []
    for line in block.split(b"\n"):
        field, _, value = line.partition(b":")
        if field == b"data":
            lines.append(value.removeprefix(b" "))
    return b"\n".join(lines) if lines else None
