"""A streamed reply whose events are JSON: from bytes to chunks, whatever the vendor. Pure."""

from collections.abc import Callable
from typing import Final, Generic, Protocol, TypeVar

import msgspec

from robota.providers.chunks import Chunk
from robota.providers.fault import FaultKind, ProviderFault
from robota.providers.http.faults import fault_of_error_object, server_message
from robota.providers.wire.chunk_batch import ChunkBatch
from robota.providers.wire.sse import SseFrames

E_contra = TypeVar("E_contra", contravariant=True)
E = TypeVar("E")

DONE: Final = b"[DONE]"
CUT: Final = "The model server ended its reply without saying that it was complete, so it may be cut short. Retry."


class EventParser(Protocol[E_contra]):
    """Knows the events of one vendor. `complete` says that nothing more is wanted."""

    complete: bool

    def take(self, event: E_contra, batch: ChunkBatch) -> None:
        """Add the chunks of an event; raises `ProviderFault` for one that reports an error."""
        ...

    def end(self, batch: ChunkBatch) -> bool:
        """The connection has given all it had: add the last chunks, and say whether the reply is whole."""
        ...


class WireReply(Generic[E]):
    """Reads one reply. After a `fault` there is no more; what came before it is given first.

    `on_done` is for servers whose mark of the end means something. `take_whole` is for those that may answer with one
    object although a stream was asked for: it says whether that was a reply.
    """

    def __init__(
        self,
        decode: Callable[[bytes], E],
        parser: EventParser[E],
        *,
        on_done: Callable[[ChunkBatch], None] | None = None,
        take_whole: Callable[[E, ChunkBatch], bool] | None = None,
    ) -> None:
        self.fault: ProviderFault | None = None
        self._decode = decode
        self._parser = parser
        self._on_done = on_done
        self._take_whole = take_whole
        self._frames = SseFrames()
        self._plain: list[bytes] | None = None
        self._seen_bytes = False

    @property
    def complete(self) -> bool:
        return self._parser.complete

    def feed(self, data: bytes) -> list[Chunk]:
        """The chunks of what arrived together."""
        if not self._seen_bytes:
            start = data.lstrip()[:1]
            self._seen_bytes = bool(start)
            if start in (b"{", b"[", b"<"):
                self._plain = []
        if self._plain is not None:
            self._plain.append(data)
            return []
        batch = ChunkBatch()
        try:
            self._read(self._frames.feed(data), batch)
        except ProviderFault as fault:
            self.fault = fault
        return batch.take()

    def finish(self) -> list[Chunk]:
        """The last chunks, once the connection has given all it had. Sets `fault` if the reply is not whole."""
        batch = ChunkBatch()
        try:
            if self._plain is not None:
                self._read_whole(b"".join(self._plain), batch)
            self._read(self._frames.finish(), batch)
            if not self.complete and not self._parser.end(batch):
                raise ProviderFault(FaultKind.STREAM_CUT, CUT)
        except ProviderFault as fault:
            self.fault = self.fault or fault
        return batch.take()

    def _read(self, payloads: list[bytes], batch: ChunkBatch) -> None:
        for payload in payloads:
            if self._parser.complete or self.fault is not None:
                return
            if payload != DONE:
                self._parser.take(self._event(payload), batch)
            elif self._on_done is not None:
                self._on_done(batch)

    def _read_whole(self, body: bytes, batch: ChunkBatch) -> None:
        is_object = body.lstrip()[:1] == b"{"
        if self._take_whole is None or not is_object or not self._take_whole(self._event(body), batch):
            raise _not_a_reply(body)

    def _event(self, payload: bytes) -> E:
        try:
            return self._decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ProviderFault(
                FaultKind.STREAM_CUT, f"A piece of the model server's reply cannot be read ({error}). Retry."
            ) from error


def _not_a_reply(body: bytes) -> ProviderFault:
    """An answer of 200 that is none: an error in disguise, or somebody else's server."""
    try:
        answer = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        answer = None
    if isinstance(answer, list):
        answer = next(iter(answer), None)
    if isinstance(answer, dict) and answer.get("error"):
        return fault_of_error_object(answer["error"])
    said = server_message(body[:2000].decode("utf-8", "replace")).rstrip(". ")
    return ProviderFault(
        FaultKind.INVALID_REQUEST,
        f"The server's answer is not a reply of a model: {said}. Check the baseURL of the provider profile.",
    )
