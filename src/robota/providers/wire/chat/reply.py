"""The events of a Chat Completions reply, as chunks. Pure."""

from typing import Any, Final

import msgspec

from robota.protocol.conversation import Usage
from robota.providers.chunks import CallStartChunk, FinishChunk, UsageChunk
from robota.providers.http.faults import fault_of_error_object
from robota.providers.wire.reply import ChunkBatch, WireReply, read_counts

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
    cache_write_tokens: int | None = None  # at OpenRouter
    cache_creation_input_tokens: int | None = None  # at Model Studio


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _PromptDetails | None = None
    prompt_cache_hit_tokens: int | None = None
    cost: float | None = None


class _Event(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: Any = None
    error: Any = None
    object: str | None = None
    message: Any = None
    code: Any = None


def chat_reply() -> WireReply[_Event]:
    """A reader for one reply."""
    parser = _ChatParser()
    decode = msgspec.json.Decoder(_Event, strict=False).decode
    return WireReply(decode, parser, on_done=parser.finish, take_whole=parser.take_whole)


class _ChatParser:
    def __init__(self) -> None:
        self.complete = False
        self._calls = CallAssembly()
        self._reason: str | None = None
        self._is_refusal = False

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
        usage = read_counts(event.usage, _Usage)
        if usage is not None:
            batch.add(_usage_chunk(usage))

    def take_whole(self, event: _Event, batch: ChunkBatch) -> bool:
        """Parse one object instead of a stream; some servers do not support streaming."""
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
        if self._is_refusal:
            reason = "content_filter"
        elif reason in ("end_turn", "tool_use"):
            # Servers disagree about this value, so the actual calls decide.
            reason = "tool_use" if self._calls.any else "end_turn"
        batch.add(FinishChunk(reason))
        self.complete = True

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
            self._is_refusal = True
        for call in delta.tool_calls or ():
            self._calls.add(_piece(call), batch)
        if delta.function_call is not None:
            self._calls.add(_piece(_Call(index=0, function=delta.function_call)), batch)


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
    details = usage.prompt_tokens_details or _PromptDetails()
    prompt = max(0, usage.prompt_tokens or 0)
    cached = max(0, min(details.cached_tokens or usage.prompt_cache_hit_tokens or 0, prompt))
    written = max(0, min(details.cache_write_tokens or details.cache_creation_input_tokens or 0, prompt - cached))
    return UsageChunk(
        Usage(
            input_tokens=prompt - cached - written,
            output_tokens=max(0, usage.completion_tokens or 0),
            cache_read_input_tokens=cached,
            cache_creation_input_tokens=written,
        ),
        usage.cost if usage.cost is not None and usage.cost >= 0 else None,
    )


class CallPiece(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a call in one delta; a field that the delta omits is an empty string."""

    index: int | None
    id: str
    name: str
    arguments: str


def _piece(call: _Call) -> CallPiece:
    function = call.function or _Function()
    arguments = function.arguments
    if isinstance(arguments, dict):
        arguments = msgspec.json.encode(arguments).decode()
    return CallPiece(index=call.index, id=call.id or "", name=function.name or "", arguments=arguments or "")


class _OpenCall(msgspec.Struct):
    index: int
    id: str = ""
    name: str = ""
    started: bool = False
    held_arguments: str = ""


class CallAssembly:
    """Numbers the calls (0, 1, 2 …) and announces each as soon as its name is known.

    A call whose name comes late is held back until then. One that never gets a name is announced without it at the end,
    so that the model gets an error instead of no result.
    """

    def __init__(self) -> None:
        self._calls: list[_OpenCall] = []
        self._by_index: dict[int, _OpenCall] = {}
        self._by_id: dict[str, _OpenCall] = {}

    @property
    def any(self) -> bool:
        return bool(self._calls)

    def add(self, piece: CallPiece, batch: ChunkBatch) -> None:
        call = self._call_of(piece)
        if piece.id and not call.id:
            call.id = piece.id
            self._by_id[piece.id] = call
        if piece.name and not call.started:
            call.name = piece.name
        if call.started:
            if piece.arguments:
                batch.arguments(call.index, piece.arguments)
            return
        call.held_arguments += piece.arguments
        if call.name and (call.id or call.held_arguments):
            _announce(call, batch)

    def finish(self, batch: ChunkBatch) -> None:
        for call in self._calls:
            if not call.started:
                _announce(call, batch)

    def _call_of(self, piece: CallPiece) -> _OpenCall:
        open_call = self._by_index.get(piece.index) if piece.index is not None else self._without_index(piece)
        if open_call is not None and not _is_another(piece, open_call):
            return open_call
        call = _OpenCall(index=len(self._calls))
        self._calls.append(call)
        if piece.index is not None:
            self._by_index[piece.index] = call
        return call

    def _without_index(self, piece: CallPiece) -> _OpenCall | None:
        if piece.id:
            return self._by_id.get(piece.id)
        last = self._calls[-1] if self._calls else None
        # A second name without id or index can only be a second call.
        return None if last is not None and piece.name and last.name else last


def _is_another(piece: CallPiece, open_call: _OpenCall) -> bool:
    """Some servers give every call of a reply the index 0; they are distinguished by id."""
    return bool(piece.id and open_call.id and piece.id != open_call.id and piece.name)


def _announce(call: _OpenCall, batch: ChunkBatch) -> None:
    call.started = True
    batch.add(CallStartChunk(call.index, call.id, call.name))
    if call.held_arguments:
        batch.arguments(call.index, call.held_arguments)
        call.held_arguments = ""
