"""The reply of a Chat Completions server: from bytes to chunks, pure."""

import json
import re
from typing import Any, Final

import msgspec

from robota.protocol.conversation import Usage
from robota.providers.call_assembly import CallAssembly, CallPiece
from robota.providers.chunk_batch import ChunkBatch
from robota.providers.chunks import Chunk, FinishChunk, UsageChunk
from robota.providers.fault import FaultKind, ProviderFault
from robota.providers.http_fault import fault_of_error_object, server_message
from robota.providers.pair_mender import PairMender
from robota.providers.sse import SseFrames

DONE: Final = b"[DONE]"
HALF_PAIR: Final = re.compile(rb"\\u[dD][89a-fA-F]")
REASONS: Final = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
    "content_filter": "content_filter",
}


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class _Call(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _Function | None = None


class _Delta(msgspec.Struct):
    content: str | list[Any] | None = None
    reasoning_content: str | None = None
    reasoning: Any = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None
    function_call: _Function | None = None


class _Choice(msgspec.Struct):
    delta: _Delta | None = None
    message: _Delta | None = None
    finish_reason: str | None = None


class _PromptDetails(msgspec.Struct):
    cached_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None
    prompt_cache_hit_tokens: int | None = None
    cost: float | None = None


class _Event(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: Any = None
    object: str | None = None
    message: Any = None
    code: Any = None


class ChatReply:
    """Reads one reply. `feed` gives the chunks of what arrived together; `complete` says that nothing is missing.

    It raises `ProviderFault`, unless something whole arrived together with the fault: that is given first, and the
    reply has the `fault`. A server that answers with one JSON object although a stream was asked for is understood too.
    """

    def __init__(self) -> None:
        self.complete = False
        self.fault: ProviderFault | None = None
        self._frames = SseFrames()
        self._decode = msgspec.json.Decoder(_Event).decode
        self._calls = CallAssembly()
        self._reason: str | None = None
        self._plain: list[bytes] | None = None
        self._seen_bytes = False
        # Only filled for a server that sends characters in halves.
        self._menders: dict[str, PairMender] = {}

    def feed(self, data: bytes) -> list[Chunk]:
        if not self._seen_bytes:
            start = data.lstrip()[:1]
            self._seen_bytes = bool(start)
            if start in (b"{", b"[", b"<"):
                self._plain = []
        if self._plain is not None:
            self._plain.append(data)
            return []
        return self._read(self._frames.feed(data))

    def finish(self) -> list[Chunk]:
        """The last chunks, once the connection has given all it had. Raises if the reply is not whole."""
        if self.fault is not None:
            raise self.fault
        if self._plain is not None:
            return self._read_whole(b"".join(self._plain))
        chunks = self._read(self._frames.finish())
        if self.complete or self.fault is not None:
            return chunks
        if self._reason is None:
            raise ProviderFault(
                FaultKind.STREAM_CUT,
                "The model server ended its reply without saying that it was complete, so it may be cut short. Retry.",
            )
        return [*chunks, *self._end().take()]

    def _read(self, payloads: list[bytes]) -> list[Chunk]:
        batch = ChunkBatch()
        try:
            for payload in payloads:
                if self.complete:
                    break
                if payload == DONE:
                    self._end(batch)
                    break
                self._take(self._event(payload), batch)
        except ProviderFault as fault:
            chunks = batch.take()
            if not chunks:
                raise
            self.fault = fault
            return chunks
        return batch.take()

    def _event(self, payload: bytes) -> _Event:
        try:
            event = self._decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            if HALF_PAIR.search(payload) and (mended := self._event_with_halves(payload)) is not None:
                return mended
            raise ProviderFault(
                FaultKind.STREAM_CUT, f"A piece of the model server's reply cannot be read ({error}). Retry."
            ) from error
        if event.error:
            raise fault_of_error_object(event.error)
        if event.object == "error":
            raise fault_of_error_object({"message": event.message, "code": event.code})
        return event

    def _event_with_halves(self, payload: bytes) -> _Event | None:
        """Some servers cut text between the two halves of a UTF-16 pair; strict JSON readers refuse a half."""
        try:
            event = msgspec.convert(json.loads(payload), _Event)
        except (ValueError, RecursionError):
            return None
        for choice in event.choices or ():
            delta = choice.delta or choice.message or _Delta()
            if isinstance(delta.content, str):
                delta.content = self._mend("content", delta.content)
            if delta.reasoning_content:
                delta.reasoning_content = self._mend("reasoning", delta.reasoning_content)
            for call in delta.tool_calls or ():
                if call.function is not None and isinstance(call.function.arguments, str):
                    call.function.arguments = self._mend(f"call {call.index}", call.function.arguments)
        return event

    def _mend(self, where: str, text: str) -> str:
        return self._menders.setdefault(where, PairMender()).mend(text)

    def _take(self, event: _Event, batch: ChunkBatch) -> None:
        if event.choices:
            choice = event.choices[0]
            delta = choice.delta or choice.message
            if delta is not None:
                self._take_delta(delta, batch)
            if choice.finish_reason:
                self._reason = choice.finish_reason
        if event.usage is not None:
            batch.add(_usage_chunk(event.usage))

    def _take_delta(self, delta: _Delta, batch: ChunkBatch) -> None:
        thought = delta.reasoning_content or delta.reasoning
        if thought and isinstance(thought, str):
            batch.thinking(thought)
        if isinstance(delta.content, str):
            batch.text(delta.content)
        elif delta.content:
            _take_parts(delta.content, batch)
        if delta.refusal:
            batch.text(delta.refusal)
        for call in delta.tool_calls or ():
            self._calls.add(_piece(call), batch)
        if delta.function_call is not None:
            self._calls.add(_piece(_Call(index=0, function=delta.function_call)), batch)

    def _end(self, batch: ChunkBatch | None = None) -> ChunkBatch:
        batch = batch or ChunkBatch()
        self._calls.finish(batch)
        reason = REASONS.get(self._reason or "stop", self._reason or "end_turn")
        if reason in ("end_turn", "tool_use"):
            # Servers disagree on this one; what was called is what counts.
            reason = "tool_use" if self._calls.any else "end_turn"
        batch.add(FinishChunk(reason))
        self.complete = True
        return batch

    def _read_whole(self, body: bytes) -> list[Chunk]:
        if body.lstrip()[:1] == b"<":
            raise ProviderFault(
                FaultKind.INVALID_REQUEST,
                f"The server answered with a web page, not with a reply of a model: "
                f"{server_message(body[:2000].decode('utf-8', 'replace'))} Check the baseURL of the provider profile.",
            )
        event = self._event(body)
        if not event.choices:
            raise ProviderFault(
                FaultKind.INVALID_REQUEST,
                f"The server's answer is not a Chat Completions reply: "
                f"{server_message(body.decode('utf-8', 'replace'))} Check the baseURL of the provider profile.",
            )
        batch = ChunkBatch()
        self._take(event, batch)
        return self._end(batch).take()


def _piece(call: _Call) -> CallPiece:
    function = call.function or _Function()
    arguments = function.arguments
    if isinstance(arguments, dict):
        arguments = msgspec.json.encode(arguments).decode()
    return CallPiece(index=call.index, id=call.id or "", name=function.name or "", arguments=arguments or "")


def _take_parts(parts: list[Any], batch: ChunkBatch) -> None:
    """Some servers send a list: text in parts, and thoughts as a part that is again a list."""
    for part in parts:
        if not isinstance(part, dict):
            continue
        if isinstance(part.get("text"), str):
            batch.text(part["text"])
        elif isinstance(part.get("thinking"), list):
            thoughts = (thought.get("text") for thought in part["thinking"] if isinstance(thought, dict))
            batch.thinking("".join(text for text in thoughts if isinstance(text, str)))


def _usage_chunk(usage: _Usage) -> UsageChunk:
    details = usage.prompt_tokens_details
    cached = (details.cached_tokens if details else None) or usage.prompt_cache_hit_tokens or 0
    prompt = usage.prompt_tokens or 0
    cached = max(0, min(cached, prompt))
    return UsageChunk(
        Usage(
            input_tokens=max(0, prompt - cached),
            output_tokens=max(0, usage.completion_tokens or 0),
            cache_read_input_tokens=cached,
        ),
        usage.cost,
    )
