"""Turns the bytes of a streamed reply into chunks, for every wire format: SSE frames, JSON events, batches. Pure."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

import msgspec

from robota.providers.chunks import CallArgumentsChunk, Chunk, FinishChunk, TextChunk, ThinkingChunk
from robota.providers.fault import FaultKind, ProviderFault
from robota.providers.http.faults import fault_of_error_object, sentence, server_message

if TYPE_CHECKING:
    from robota.providers.wire.half_characters import HalfCharacterJoiner

DONE: Final = b"[DONE]"
CUT: Final = "The model server ended its reply without saying that it was complete, so it may be cut short. Retry."
MAX_EVENT_BYTES: Final = 32 * 1024 * 1024
BOM: Final = b"\xef\xbb\xbf"
MAX_COUNT: Final = 2**53  # a larger number cannot be a token count, and not every JSON parser can represent it
E_contra = TypeVar("E_contra", contravariant=True)
E = TypeVar("E")
Shape = TypeVar("Shape", bound=msgspec.Struct)


class ChunkBatch:
    """Collects the chunks of one network read, and joins neighbours of the same kind.

    `joiner` is set once an event had half characters.
    """

    def __init__(self, joiner: "HalfCharacterJoiner | None" = None) -> None:
        self.joiner = joiner
        self._chunks: list[Chunk] = []
        self._texts: list[str] = []
        self._kind: type[TextChunk] | type[ThinkingChunk] = TextChunk
        self._arguments: list[str] = []
        self._call = 0

    def text(self, text: str) -> None:
        """Add text of the answer."""
        if self._arguments or self._kind is not TextChunk:
            self._flush()
            self._kind = TextChunk
        self._texts.append(text)

    def thinking(self, text: str) -> None:
        """Add reasoning."""
        if self._arguments or self._kind is not ThinkingChunk:
            self._flush()
            self._kind = ThinkingChunk
        self._texts.append(text)

    def arguments(self, call: int, json: str) -> None:
        """Add a piece of the arguments of a call."""
        if self._texts or self._call != call:
            self._flush()
            self._call = call
        self._arguments.append(json)

    def add(self, chunk: Chunk) -> None:
        """Add a chunk that is not joined with others."""
        self._flush()
        if self.joiner is not None:
            chunk = self.joiner.whole(chunk)
            if isinstance(chunk, FinishChunk):
                self._release_halves(self.joiner)
        self._chunks.append(chunk)

    def take(self) -> list[Chunk]:
        """The chunks so far; the batch is empty afterwards."""
        self._flush()
        chunks, self._chunks = self._chunks, []
        return chunks

    def _flush(self) -> None:
        if self._texts:
            text = self._join_pieces(self._kind, self._texts)
            self._texts.clear()
            if text:
                self._chunks.append(self._kind(text))
        if self._arguments:
            self._chunks.append(CallArgumentsChunk(self._call, self._join_pieces(self._call, self._arguments)))
            self._arguments.clear()

    def _join_pieces(self, stream: object, pieces: list[str]) -> str:
        text = "".join(pieces)
        return text if self.joiner is None else self.joiner.join(stream, text)

    def _release_halves(self, joiner: "HalfCharacterJoiner") -> None:
        for stream, text in joiner.rest().items():
            if isinstance(stream, int):
                self._chunks.append(CallArgumentsChunk(stream, text))
            else:
                self._chunks.append(TextChunk(text) if stream is TextChunk else ThinkingChunk(text))


class EventParser(Protocol[E_contra]):
    """Parses the events of one vendor. `complete` is set when the reply is complete."""

    complete: bool

    def take(self, event: E_contra, batch: ChunkBatch) -> None:
        """Add the chunks of an event; raises `ProviderFault` for one that reports an error."""
        ...

    def end(self, batch: ChunkBatch) -> bool:
        """The connection has ended: add the last chunks; returns whether the reply is complete."""
        ...


class WireReply(Generic[E]):
    """Reads one reply in any format. After a `fault` there are no more chunks; those before it come first.

    `on_done` is for servers whose `[DONE]` marker has a meaning. `take_whole` is for servers that may answer a stream
    request with one JSON object: it returns whether that was a reply.
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
        self._joiner: HalfCharacterJoiner | None = None

    @property
    def complete(self) -> bool:
        """Whether the reply is complete."""
        return self._parser.complete

    def feed(self, data: bytes) -> list[Chunk]:
        """The chunks of one network read."""
        if not self._seen_bytes:
            start = data.lstrip()[:1]
            self._seen_bytes = bool(start)
            if start in (b"{", b"[", b"<"):
                self._plain = []
        if self._plain is not None:
            self._plain.append(data)
            return []
        batch = ChunkBatch(self._joiner)
        try:
            self._read(self._frames.feed(data), batch)
        except ProviderFault as fault:
            self.fault = self._readable(fault)
        return batch.take()

    def finish(self) -> list[Chunk]:
        """The last chunks, after the connection has ended. Sets `fault` if the reply is incomplete."""
        batch = ChunkBatch(self._joiner)
        try:
            if self._plain is not None:
                self._read_whole(b"".join(self._plain), batch)
            self._read(self._frames.finish(), batch)
            if not self.complete and not self._parser.end(batch):
                raise ProviderFault(FaultKind.STREAM_CUT, CUT)
        except ProviderFault as fault:
            self.fault = self.fault or self._readable(fault)
        return batch.take()

    def _read(self, payloads: list[bytes], batch: ChunkBatch) -> None:
        for payload in payloads:
            if self._parser.complete or self.fault is not None:
                return
            if payload != DONE:
                self._parser.take(self._event(payload, batch), batch)
            elif self._on_done is not None:
                self._on_done(batch)

    def _read_whole(self, body: bytes, batch: ChunkBatch) -> None:
        is_object = body.lstrip()[:1] == b"{"
        if self._take_whole is None or not is_object or not self._take_whole(self._event(body, batch), batch):
            raise _not_a_reply(body)

    def _event(self, payload: bytes, batch: ChunkBatch) -> E:
        try:
            return self._decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            # Imported here because hardly any server sends such text.
            from robota.providers.wire.half_characters import HalfCharacterJoiner, decode_with_marks

            try:
                event = decode_with_marks(self._decode, payload)
            except (msgspec.DecodeError, RecursionError):
                raise ProviderFault(
                    FaultKind.STREAM_CUT, f"Part of the model server's reply cannot be parsed ({error}). Retry."
                ) from error
        self._joiner = batch.joiner = self._joiner or HalfCharacterJoiner()
        return event

    def _readable(self, fault: ProviderFault) -> ProviderFault:
        """The fault with replacement characters in the server's words."""
        if self._joiner is not None:
            from robota.providers.wire.half_characters import without_marks

            fault.message, fault.reason = without_marks(fault.message), without_marks(fault.reason)
            fault.args = (fault.message,)
        return fault


def _not_a_reply(body: bytes) -> ProviderFault:
    """The fault for a response with status 200 that is not a reply: an error object, or another kind of server."""
    try:
        answer = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        answer = None
    if isinstance(answer, list):
        answer = next(iter(answer), None)
    if isinstance(answer, dict) and answer.get("error"):
        return fault_of_error_object(answer["error"])
    message = server_message(body[:2000].decode("utf-8", "replace")).rstrip(". ")
    return ProviderFault(
        FaultKind.INVALID_REQUEST,
        f"The server's answer is not a reply of a model: {message}. Check the baseURL of the provider profile.",
    )


def fault_of_named_error(error: Any, key: str, kinds: Mapping[str, FaultKind]) -> ProviderFault:
    """The fault for an error whose `key` is in `kinds`; any other is classified by its status and text."""
    kind = kinds.get(str(error.get(key))) if isinstance(error, dict) else None
    if kind is None:
        return fault_of_error_object(error)
    message = server_message(msgspec.json.encode(error).decode("utf-8", "replace"))
    return ProviderFault(kind, sentence(kind, message, None))


class SseFrames:
    """Splits a byte stream into the data of its SSE events, wherever the network reads end.

    Comments, event names and ids are skipped: a ping has no payload, but its bytes reset the idle timer of the
    connection.
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
        """The payload of a last event without its empty line, which some servers omit."""
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


def read_counts(raw: Any, shape: type[Shape]) -> Shape | None:
    """The token counts in an event, without invalid ones; None if nothing is left.

    Servers write integers, but also `100.0` and `"100"`. An invalid count must not fail the reply.
    """
    if not isinstance(raw, dict):
        return None
    if (whole := _converted(raw, shape)) is not None:
        return whole
    kept = {name: value for name, value in raw.items() if _converted({name: value}, shape) is not None}
    return _converted(kept, shape) if kept else None


def _converted(raw: dict[str, Any], shape: type[Shape]) -> Shape | None:
    try:
        converted = msgspec.convert(raw, shape, strict=False)
    except msgspec.ValidationError:
        return None
    return converted if _is_plausible(converted) else None


def _is_plausible(value: Any) -> bool:
    if isinstance(value, msgspec.Struct):
        return all(_is_plausible(getattr(value, name)) for name in value.__struct_fields__)
    return not isinstance(value, int | float) or -MAX_COUNT <= value <= MAX_COUNT
