"""The events of a Responses reply, as chunks. Pure."""

import re
from typing import Any, Final

import msgspec

from robota.protocol.conversation import Usage
from robota.providers.chunks import CallStartChunk, FinishChunk, ThinkingChunk, UsageChunk
from robota.providers.fault import FaultKind, ProviderFault
from robota.providers.wire.reply import ChunkBatch, WireReply, fault_of_named_error, read_counts
from robota.providers.wire.responses.thinking import ReasoningItem, sealed

REFUSAL_DELTA: Final = "response.refusal.delta"
TEXT_DELTAS: Final = frozenset({"response.output_text.delta", REFUSAL_DELTA})
THOUGHT_DELTAS: Final = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})
INCOMPLETE: Final = {"max_output_tokens": "max_tokens", "content_filter": "content_filter"}
ERRORS: Final = {
    "context_length_exceeded": FaultKind.CONTEXT_TOO_LONG,
    "insufficient_quota": FaultKind.BILLING,
    "invalid_api_key": FaultKind.AUTHENTICATION,
    "invalid_prompt": FaultKind.CONTENT_FILTER,
    "model_not_found": FaultKind.MODEL_NOT_FOUND,
    "rate_limit_exceeded": FaultKind.RATE_LIMIT,
    "server_error": FaultKind.SERVER,
    "server_is_overloaded": FaultKind.OVERLOADED,
    "slow_down": FaultKind.OVERLOADED,
}
WAIT: Final = re.compile(r"try again in (\d+(?:\.\d+)?) ?(ms|s)\b", re.IGNORECASE)


class _Event(msgspec.Struct):
    """`response` can be large and is read only at the end."""

    type: str = ""
    delta: Any = None
    output_index: int = 0
    summary_index: int = 0
    item: msgspec.Raw = msgspec.Raw()
    response: msgspec.Raw = msgspec.Raw()
    error: Any = None
    code: Any = None
    message: Any = None


class _Item(msgspec.Struct):
    type: str = ""
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    encrypted_content: str | None = None


class _Cached(msgspec.Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: _Cached | None = None


class _Incomplete(msgspec.Struct):
    reason: str | None = None


class _Response(msgspec.Struct):
    usage: Any = None
    error: Any = None
    incomplete_details: _Incomplete | None = None


class _OpenCall(msgspec.Struct):
    index: int
    has_arguments: bool = False


def responses_reply() -> WireReply[_Event]:
    """A reader for one reply."""
    return WireReply(msgspec.json.Decoder(_Event, strict=False).decode, _ResponsesParser())


class _ResponsesParser:
    def __init__(self) -> None:
        self.complete = False
        self._calls: dict[int, _OpenCall] = {}
        # The items of the stretch of reasoning that the reply is in.
        self._reasoning: list[ReasoningItem] = []
        self._is_refusal = False

    def take(self, event: _Event, batch: ChunkBatch) -> None:
        kind = event.type
        if kind in TEXT_DELTAS:
            self._is_refusal |= kind == REFUSAL_DELTA
            self._say(event.delta, batch)
        elif kind == "response.function_call_arguments.delta":
            self._take_arguments(event.output_index, event.delta, batch)
        elif kind in THOUGHT_DELTAS:
            if isinstance(event.delta, str):
                batch.thinking(event.delta)
        elif kind == "response.reasoning_summary_part.added":
            if event.summary_index:
                batch.thinking("\n\n")
        elif kind == "response.output_item.added":
            self._open_item(event.output_index, msgspec.json.decode(event.item, type=_Item), batch)
        elif kind == "response.output_item.done":
            self._close_item(event.output_index, msgspec.json.decode(event.item, type=_Item), batch)
        else:
            self._take_rare(event, batch)

    def end(self, batch: ChunkBatch) -> bool:
        return self.complete

    def _take_rare(self, event: _Event, batch: ChunkBatch) -> None:
        if event.type in ("response.completed", "response.incomplete"):
            self._finish(msgspec.json.decode(event.response, type=_Response), batch)
        elif event.type == "response.failed":
            raise _fault(msgspec.json.decode(event.response, type=_Response).error)
        elif event.type == "error" or event.error:
            raise _fault(event.error or {"code": event.code, "message": event.message})

    def _say(self, text: Any, batch: ChunkBatch) -> None:
        if isinstance(text, str) and text:
            if self._reasoning:
                self._reasoning = []
            batch.text(text)

    def _take_arguments(self, index: int, json: Any, batch: ChunkBatch) -> None:
        call = self._calls.get(index)
        if call is not None and isinstance(json, str) and json:
            call.has_arguments = True
            batch.arguments(call.index, json)

    def _open_item(self, index: int, item: _Item, batch: ChunkBatch) -> None:
        if item.type == "function_call":
            self._reasoning = []
            call = self._calls[index] = _OpenCall(index=len(self._calls))
            batch.add(CallStartChunk(call.index, item.call_id or item.id or "", item.name or ""))

    def _close_item(self, index: int, item: _Item, batch: ChunkBatch) -> None:
        if item.type == "reasoning":
            if item.id and item.encrypted_content:
                self._reasoning.append(ReasoningItem(id=item.id, encrypted_content=item.encrypted_content))
            batch.add(ThinkingChunk("", sealed(self._reasoning)))
        elif item.type == "function_call":
            if index not in self._calls:
                self._open_item(index, item, batch)
            if not self._calls[index].has_arguments:
                # Some servers send the arguments whole instead of in pieces.
                self._take_arguments(index, item.arguments, batch)

    def _finish(self, response: _Response, batch: ChunkBatch) -> None:
        usage = read_counts(response.usage, _Usage)
        if usage is not None:
            batch.add(UsageChunk(_usage(usage)))
        stopped = response.incomplete_details.reason if response.incomplete_details else None
        reason = INCOMPLETE.get(stopped, stopped) if stopped else "tool_use" if self._calls else "end_turn"
        if self._is_refusal:
            reason = "content_filter"
        last = next(reversed(self._calls.values()), None)
        if stopped and last is not None and not last.has_arguments:
            # If it was cut off before its first argument, it would look like a call without arguments.
            batch.arguments(last.index, "{")
        batch.add(FinishChunk(reason))
        self.complete = True


def _fault(error: Any) -> ProviderFault:
    fault = fault_of_named_error(error, "code", ERRORS)
    wait = WAIT.search(fault.message)
    if wait is not None and fault.retry_after_s is None:
        fault.retry_after_s = float(wait[1]) / (1000 if wait[2].lower() == "ms" else 1)
    return fault


def _usage(usage: _Usage) -> Usage:
    """The server includes cached tokens in the input, and reasoning in the output."""
    details = usage.input_tokens_details or _Cached()
    sent = max(0, usage.input_tokens or 0)
    read = max(0, min(details.cached_tokens or 0, sent))
    written = max(0, min(details.cache_write_tokens or 0, sent - read))
    return Usage(
        input_tokens=sent - read - written,
        output_tokens=max(0, usage.output_tokens or 0),
        cache_creation_input_tokens=written,
        cache_read_input_tokens=read,
    )
