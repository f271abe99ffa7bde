"""The events of a Messages reply, as chunks. Pure."""

from typing import Any, Final

import msgspec

from robota.protocol.conversation import Usage
from robota.providers.chunks import CallStartChunk, FinishChunk, ThinkingChunk, UsageChunk
from robota.providers.fault import FaultKind
from robota.providers.wire.anthropic.thinking import Redacted, ThinkingPiece, Thought, sealed
from robota.providers.wire.reply import ChunkBatch, WireReply, fault_of_named_error, read_counts

REASONS: Final = {
    "stop_sequence": "end_turn",
    "model_context_window_exceeded": "max_tokens",
    "refusal": "content_filter",
}
ERRORS: Final = {
    "authentication_error": FaultKind.AUTHENTICATION,
    "permission_error": FaultKind.AUTHENTICATION,
    "billing_error": FaultKind.BILLING,
    "not_found_error": FaultKind.MODEL_NOT_FOUND,
    "request_too_large": FaultKind.CONTEXT_TOO_LONG,
    "rate_limit_error": FaultKind.RATE_LIMIT,
    "overloaded_error": FaultKind.OVERLOADED,
    "timeout_error": FaultKind.SERVER,
    "api_error": FaultKind.SERVER,
}


class _Delta(msgspec.Struct):
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None


class _Block(msgspec.Struct):
    type: str = ""
    id: str | None = None
    name: str | None = None
    input: dict[str, Any] | None = None
    data: str | None = None
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None


class _CacheCreation(msgspec.Struct):
    ephemeral_5m_input_tokens: int | None = None
    ephemeral_1h_input_tokens: int | None = None


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_creation: _CacheCreation | None = None


class _Message(msgspec.Struct):
    usage: Any = None


class _Event(msgspec.Struct):
    type: str = ""
    index: int = 0
    delta: _Delta | None = None
    content_block: _Block | None = None
    message: _Message | None = None
    usage: Any = None
    error: Any = None


class _OpenCall(msgspec.Struct):
    index: int
    input: dict[str, Any]
    has_arguments: bool = False


def anthropic_reply() -> WireReply[_Event]:
    """A reader for one reply."""
    return WireReply(msgspec.json.Decoder(_Event, strict=False).decode, _MessagesParser())


class _MessagesParser:
    def __init__(self) -> None:
        self.complete = False
        self._reason: str | None = None
        self._usage = Usage()
        self._hour_writes = 0
        self._calls: dict[int, _OpenCall] = {}
        # The pieces of the stretch of reasoning that the reply is in, and the piece that is being written.
        self._thoughts: list[ThinkingPiece] = []
        self._thought_length = 0
        self._signature = ""
        self._block = ""

    def take(self, event: _Event, batch: ChunkBatch) -> None:
        if event.type == "content_block_delta":
            if event.delta is not None:
                self._take_delta(event.index, event.delta, batch)
        elif event.type == "content_block_start":
            self._start_block(event.index, event.content_block or _Block(), batch)
        elif event.type == "content_block_stop":
            self._stop_block(event.index, batch)
        elif event.type == "message_start":
            self._take_usage(event.message.usage if event.message else None, batch)
        elif event.type == "message_delta":
            self._reason = (event.delta.stop_reason if event.delta else None) or self._reason
            self._take_usage(event.usage, batch)
        elif event.type == "message_stop":
            self._finish(batch)
        elif event.type == "error" or event.error:
            raise fault_of_named_error(event.error, "type", ERRORS)

    def end(self, batch: ChunkBatch) -> bool:
        if self._reason is None:
            return False
        self._finish(batch)
        return True

    def _take_delta(self, index: int, delta: _Delta, batch: ChunkBatch) -> None:
        if delta.text:
            self._say(delta.text, batch)
        elif delta.partial_json:
            call = self._calls.get(index)
            if call is not None:
                call.has_arguments = True
                batch.arguments(call.index, delta.partial_json)
        elif delta.thinking:
            self._think(delta.thinking, batch)
        elif delta.signature:
            self._signature += delta.signature

    def _start_block(self, index: int, block: _Block, batch: ChunkBatch) -> None:
        self._block = block.type
        if block.type == "tool_use":
            self._thoughts = []
            call = self._calls[index] = _OpenCall(index=len(self._calls), input=block.input or {})
            batch.add(CallStartChunk(call.index, block.id or "", block.name or ""))
        elif block.type == "redacted_thinking":
            self._thoughts.append(Redacted(data=block.data or ""))
        elif block.type == "thinking":
            self._thought_length, self._signature = 0, block.signature or ""
            self._think(block.thinking or "", batch)
        elif block.text:
            self._say(block.text, batch)

    def _stop_block(self, index: int, batch: ChunkBatch) -> None:
        call = self._calls.get(index)
        if call is not None and call.input and not call.has_arguments:
            # Some servers send the input whole instead of in pieces.
            call.has_arguments = True
            batch.arguments(call.index, msgspec.json.encode(call.input).decode())
        if self._block == "thinking" and self._signature:
            self._thoughts.append(Thought(length=self._thought_length, signature=self._signature))
        if self._block in ("thinking", "redacted_thinking") and self._thoughts:
            batch.add(ThinkingChunk("", sealed(self._thoughts)))
        self._block = ""

    def _say(self, text: str, batch: ChunkBatch) -> None:
        if self._thoughts:
            self._thoughts = []
        batch.text(text)

    def _think(self, text: str, batch: ChunkBatch) -> None:
        self._thought_length += len(text)
        batch.thinking(text)

    def _take_usage(self, raw: Any, batch: ChunkBatch) -> None:
        """Counts are running totals; those that an event omits are unchanged."""
        usage = read_counts(raw, _Usage)
        if usage is None:
            return
        previous = self._usage
        self._usage = Usage(
            input_tokens=_newer(usage.input_tokens, previous.input_tokens),
            output_tokens=_newer(usage.output_tokens, previous.output_tokens),
            cache_creation_input_tokens=_newer(_cache_writes(usage), previous.cache_creation_input_tokens),
            cache_read_input_tokens=_newer(usage.cache_read_input_tokens, previous.cache_read_input_tokens),
        )
        if usage.cache_creation is not None:
            self._hour_writes = _newer(usage.cache_creation.ephemeral_1h_input_tokens, self._hour_writes)
        batch.add(UsageChunk(self._usage, hour_writes=self._hour_writes))

    def _finish(self, batch: ChunkBatch) -> None:
        reason = REASONS.get(self._reason or "end_turn", self._reason or "end_turn")
        if reason in ("end_turn", "tool_use"):
            reason = "tool_use" if self._calls else "end_turn"
        last = next(reversed(self._calls.values()), None)
        if reason == "max_tokens" and last is not None and not last.has_arguments:
            # If it was cut off before its first argument, it would look like a call without arguments.
            batch.arguments(last.index, "{")
        batch.add(FinishChunk(reason))
        self.complete = True


def _cache_writes(usage: _Usage) -> int | None:
    if usage.cache_creation_input_tokens is not None or usage.cache_creation is None:
        return usage.cache_creation_input_tokens
    parts = usage.cache_creation
    return (parts.ephemeral_5m_input_tokens or 0) + (parts.ephemeral_1h_input_tokens or 0)


def _newer(count: int | None, previous: int) -> int:
    return previous if count is None else max(0, count)
