"""The events of a Gemini reply, as chunks. Pure."""

from typing import Any, Final

import msgspec

from robota.protocol.conversation import Usage
from robota.providers.chunks import CallArgumentsChunk, CallStartChunk, FinishChunk, ThinkingChunk, UsageChunk
from robota.providers.fault import FaultKind, ProviderFault
from robota.providers.http.faults import fault_of_error_object, sentence
from robota.providers.wire.gemini.thinking import Signatures, sealed
from robota.providers.wire.reply import ChunkBatch, WireReply, read_counts

REASONS: Final = {
    "STOP": "end_turn",
    "MAX_TOKENS": "max_tokens",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "IMAGE_SAFETY": "content_filter",
}
UNREADABLE: Final = frozenset({"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"})


class _FunctionCall(msgspec.Struct):
    id: str | None = None
    name: str | None = None
    args: dict[str, Any] | None = None


class _Part(msgspec.Struct, rename="camel"):
    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: _FunctionCall | None = None


class _Content(msgspec.Struct):
    parts: list[_Part] | None = None


class _Candidate(msgspec.Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None


class _Usage(msgspec.Struct, rename="camel"):
    prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None
    cached_content_token_count: int | None = None


class _Feedback(msgspec.Struct, rename="camel"):
    block_reason: str | None = None


class _Event(msgspec.Struct, rename="camel"):
    candidates: list[_Candidate] | None = None
    usage_metadata: Any = None
    prompt_feedback: _Feedback | None = None
    error: Any = None


def gemini_reply() -> WireReply[_Event]:
    """A reader for one reply."""
    return WireReply(msgspec.json.Decoder(_Event, strict=False).decode, _GeminiParser())


class _GeminiParser:
    """Only the end of the connection marks the end, so a reply is never complete before it."""

    def __init__(self) -> None:
        self.complete = False
        self._reason: str | None = None
        self._calls = 0
        # The signatures of the stretch of thoughts that the reply is in; None outside of one.
        self._thoughts: Signatures | None = None

    def take(self, event: _Event, batch: ChunkBatch) -> None:
        if event.candidates:
            self._take_candidate(event.candidates[0], batch)
        usage = read_counts(event.usage_metadata, _Usage)
        if usage is not None:
            batch.add(UsageChunk(_usage(usage)))
        if event.error:
            raise fault_of_error_object(event.error)
        blocked = event.prompt_feedback.block_reason if event.prompt_feedback else None
        if blocked:
            raise ProviderFault(FaultKind.CONTENT_FILTER, sentence(FaultKind.CONTENT_FILTER, blocked, None))

    def end(self, batch: ChunkBatch) -> bool:
        if self._reason is None:
            return False
        reason = REASONS.get(self._reason, self._reason.lower())
        if reason == "end_turn" and self._calls:
            reason = "tool_use"
        batch.add(FinishChunk(reason))
        self.complete = True
        return True

    def _take_candidate(self, candidate: _Candidate, batch: ChunkBatch) -> None:
        for part in (candidate.content.parts if candidate.content else None) or ():
            self._take_part(part, batch)
        if candidate.finish_reason in UNREADABLE:
            detail = f": {candidate.finish_message.rstrip('. ')}" if candidate.finish_message else ""
            raise ProviderFault(
                FaultKind.EMPTY_REPLY, f"The model wrote a reply that its server cannot parse{detail}. Retry."
            )
        self._reason = candidate.finish_reason or self._reason

    def _take_part(self, part: _Part, batch: ChunkBatch) -> None:
        if part.function_call is not None:
            self._call(part.function_call, part.thought_signature, batch)
        elif part.thought:
            self._think(part.text or "", part.thought_signature, batch)
        else:
            if part.text:
                self._thoughts = None
                batch.text(part.text)
            if part.thought_signature:
                self._add_signatures(batch, last=part.thought_signature, length=len(part.text or ""))

    def _think(self, text: str, signature: str | None, batch: ChunkBatch) -> None:
        if self._thoughts is None:
            # Emitted first, so that these thoughts are not attributed to the signature of earlier ones.
            self._add_signatures(batch)
        batch.thinking(text)
        if signature:
            self._add_signatures(batch, own=signature)

    def _call(self, call: _FunctionCall, signature: str | None, batch: ChunkBatch) -> None:
        if signature:
            self._add_signatures(batch, next=signature)
        self._thoughts = None
        batch.add(CallStartChunk(self._calls, call.id or "", call.name or ""))
        batch.add(CallArgumentsChunk(self._calls, msgspec.json.encode(call.args or {}).decode()))
        self._calls += 1

    def _add_signatures(self, batch: ChunkBatch, **signatures: Any) -> None:
        self._thoughts = msgspec.structs.replace(self._thoughts or Signatures(), **signatures)
        batch.add(ThinkingChunk("", sealed(self._thoughts)))


def _usage(usage: _Usage) -> Usage:
    """Cached tokens are included in the input; thoughts are counted separately but billed as output."""
    sent = max(0, (usage.prompt_token_count or 0) + (usage.tool_use_prompt_token_count or 0))
    cached = max(0, min(usage.cached_content_token_count or 0, sent))
    return Usage(
        input_tokens=sent - cached,
        output_tokens=max(0, (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)),
        cache_read_input_tokens=cached,
    )
