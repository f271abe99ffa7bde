"""The events of a Chat Completions reply, as chunks. Pure."""

import json
import re
from typing import Any, Final

import msgspec

from robota.protocol.conversation import Usage
from robota.providers.chunks import FinishChunk, UsageChunk
from robota.providers.http.faults import fault_of_error_object
from robota.providers.wire.call_assembly import CallAssembly, CallPiece
from robota.providers.wire.chunk_batch import ChunkBatch
from robota.providers.wire.json_reply import WireReply
from robota.text.surrogate_pairs import SurrogateJoiner

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


def chat_reply() -> WireReply[_Event]:
    """A reader for one reply."""
    parser = _ChatParser()
    return WireReply(parser.decode, parser, on_done=parser.finish, take_whole=parser.take_whole)


class _ChatParser:
    def __init__(self) -> None:
        self.complete = False
        self._decode = msgspec.json.Decoder(_Event).decode
        self._calls = CallAssembly()
        self._reason: str | None = None
        # Only filled for a server that sends characters in halves.
        self._menders: dict[str, SurrogateJoiner] = {}

    def decode(self, payload: bytes) -> _Event:
        try:
            return self._decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError):
            mended = self._event_with_halves(payload) if HALF_PAIR.search(payload) else None
            if mended is None:
                raise
            return mended

    def take(self, event: _Event, batch: ChunkBatch) -> None:
        if event.error:
            raise fault_of_error_object(event.error)
        if event.object == "error":
            raise fault_of_error_object({"message": event.message, "code": event.code})
        if event.choices:
            choice = event.choices[0]
            delta = choice.delta or choice.message
            if delta is not None:
                self._take_delta(delta, batch)
            if choice.finish_reason:
                self._reason = choice.finish_reason
        if event.usage is not None:
            batch.add(_usage_chunk(event.usage))

    def take_whole(self, event: _Event, batch: ChunkBatch) -> bool:
        """One object instead of a stream; some servers know nothing else."""
        self.take(event, batch)
        if event.choices:
            self.finish(batch)
        return self.complete

    def end(self, batch: ChunkBatch) -> bool:
        if self._reason is not None:
            self.finish(batch)
        return self.complete

    def finish(self, batch: ChunkBatch) -> None:
        self._calls.finish(batch)
        reason = REASONS.get(self._reason or "stop", self._reason or "end_turn")
        if reason in ("end_turn", "tool_use"):
            # Servers disagree on this one; what was called is what counts.
            reason = "tool_use" if self._calls.any else "end_turn"
        batch.add(FinishChunk(reason))
        self.complete = True

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
        return self._menders.setdefault(where, SurrogateJoiner()).join(text)

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
