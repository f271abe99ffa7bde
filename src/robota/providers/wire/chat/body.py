"""The body of a Chat Completions request, joined from turns that are each encoded once."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final
from zlib import crc32

import msgspec

from robota.protocol.conversation import (
    AssistantTurn,
    ImageBlock,
    ImageSource,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    Turn,
    UserTurn,
)
from robota.providers.chunks import ModelRequest, ToolSpec
from robota.providers.wire.body import RequestHead, TurnFragments, encode_json, without

RESERVED: Final = frozenset({"model", "messages", "tools", "stream", "stream_options"})
SHORT_CALL_ID: Final = re.compile(r"[A-Za-z0-9]{9}")
AFTER_RESULTS: Final = "I have the results."
# With the mark at the system prompt that makes three of the four that servers take. The older of these two is where the
# last request had its newest mark, so what that request stored is found again.
MARKED_USER_TURNS: Final = 2
CACHE_MARK: Final = {"cache_control": {"type": "ephemeral"}}


class ChatQuirks(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Differences between servers that speak the Chat Completions format.

    `reasoning_field` names the field for sending the reasoning of calls back to the server.
    `short_call_ids` have nine letters or digits. `user_after_tool` is false where a tool result must be followed by an
    assistant message before a user message.

    `cache_key_field` names the field that keeps the requests of a session on the machine that has cached them.
    `cache_marks` are the beginnings of the names of models for which only what is marked is cached.
    """

    max_tokens_field: str = "max_tokens"
    stream_options: bool = True
    reasoning_field: str | None = None
    short_call_ids: bool = False
    user_after_tool: bool = True
    cache_key_field: str | None = None
    cache_marks: tuple[str, ...] = ()

    def needs_marks(self, model: str) -> bool:
        """Whether the server caches only what is marked for it."""
        return model.startswith(self.cache_marks)


class ChatBody:
    """Encodes the requests of one conversation. Each turn is encoded once, however often it is sent.

    `extra` holds further fields of the body (temperature and the like), as the profile's options give them.
    """

    def __init__(self, extra: dict[str, Any] | None = None, quirks: ChatQuirks | None = None) -> None:
        self._extra = without(RESERVED, extra)
        self._quirks = quirks or ChatQuirks()
        self._head = RequestHead(self._encode_head)
        self._fragments = TurnFragments(lambda turn, _: encode_turn(turn, self._quirks))

    def encode(self, request: ModelRequest) -> bytes:
        encoded = self._fragments.of(request.turns)
        if self._quirks.needs_marks(request.model):
            self._mark(encoded.newest, request.turns)
        return encoded.in_body(self._head.of(request))

    def _mark(self, newest: list[bytes], turns: Sequence[Turn]) -> None:
        """Mark the end of the newest user turns, which are the last of these fragments."""
        turns = turns[len(turns) - len(newest) :]
        users = [index for index, turn in enumerate(turns) if isinstance(turn, UserTurn) and newest[index]]
        for index in users[-MARKED_USER_TURNS:]:
            messages = _messages(turns[index], self._quirks)
            newest[index] = _joined([*messages[:-1], _marked(messages[-1])])

    def _encode_head(self, request: ModelRequest) -> bytes:
        """Everything up to and including the system message, which opens the list of messages."""
        fields: dict[str, Any] = {"model": request.model, "stream": True}
        if self._quirks.stream_options:
            fields["stream_options"] = {"include_usage": True}
        fields.update(self._extra)
        if request.max_output_tokens is not None:
            fields[self._quirks.max_tokens_field] = request.max_output_tokens
        if request.tools:
            fields["tools"] = [_tool(tool) for tool in request.tools]
        if request.cache_key and self._quirks.cache_key_field:
            fields[self._quirks.cache_key_field] = request.cache_key
        system = {"role": "system", "content": request.system}
        if request.system and self._quirks.needs_marks(request.model):
            system = _marked(system)
        return encode_json(fields)[:-1] + b',"messages":[' + encode_json(system)


def encode_turn(turn: Turn, quirks: ChatQuirks) -> bytes:
    """The messages of one turn, separated by commas; empty if there is nothing to send."""
    return _joined(_messages(turn, quirks))


def _messages(turn: Turn, quirks: ChatQuirks) -> list[dict[str, Any]]:
    return _assistant(turn, quirks) if isinstance(turn, AssistantTurn) else _user(turn, quirks)


def _joined(messages: Iterable[dict[str, Any]]) -> bytes:
    return b",".join(map(encode_json, messages))


def _marked(message: dict[str, Any]) -> dict[str, Any]:
    """The message with a mark that makes the server cache everything up to its last text."""
    content = message["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    texts = [index for index, part in enumerate(parts) if part.get("text")]
    if not texts:
        return message  # a mark at an empty text is refused
    last = texts[-1]
    return {**message, "content": [*parts[:last], {**parts[last], **CACHE_MARK}, *parts[last + 1 :]]}


def _tool(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": function}


def _assistant(turn: AssistantTurn, quirks: ChatQuirks) -> list[dict[str, Any]]:
    calls = [
        {
            "id": _call_id(call.id, quirks),
            "type": "function",
            "function": {"name": call.name, "arguments": encode_json(call.input).decode()},
        }
        for call in turn.tool_uses
    ]
    if calls:
        message = {"role": "assistant", "content": turn.text or None, "tool_calls": calls}
        return [{**message, **_reasoning(turn, quirks)}]
    return [{"role": "assistant", "content": turn.text}] if turn.text else []


def _reasoning(turn: AssistantTurn, quirks: ChatQuirks) -> dict[str, str]:
    thoughts = "".join(block.thinking for block in turn.content if isinstance(block, ThinkingBlock))
    return {quirks.reasoning_field: thoughts} if quirks.reasoning_field and thoughts else {}


def _call_id(id: str, quirks: ChatQuirks) -> str:
    if not quirks.short_call_ids or SHORT_CALL_ID.fullmatch(id):
        return id
    return f"{crc32(id.encode('utf-8', 'replace')):09x}"


def _user(turn: UserTurn, quirks: ChatQuirks) -> list[dict[str, Any]]:
    """Tool results come first, because they must follow the calls; text and images come after them."""
    results = [block for block in turn.content if isinstance(block, ToolResultBlock)]
    messages: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": _call_id(result.tool_use_id, quirks), "content": result.content}
        for result in results
    ]
    content = _text_and_images(turn, results)
    if content and results and not quirks.user_after_tool:
        messages.append({"role": "assistant", "content": AFTER_RESULTS})
    if content:
        messages.append({"role": "user", "content": content})
    return messages


def _text_and_images(turn: UserTurn, results: Iterable[ToolResultBlock]) -> str | list[dict[str, Any]]:
    """The content of a user message; a plain string if possible, the only form that many servers accept."""
    words = [block.text for block in turn.content if isinstance(block, TextBlock) and block.text]
    parts: list[dict[str, Any]] = []
    for result in results:
        if result.images:
            parts.append({"type": "text", "text": f"Image in the result of {result.tool_use_id}:"})
            parts.extend(_image(image) for image in result.images)
    parts.extend({"type": "text", "text": text} for text in words)
    parts.extend(_image(block.source) for block in turn.content if isinstance(block, ImageBlock))
    return "\n\n".join(words) if len(parts) == len(words) else parts


def _image(source: ImageSource) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:{source.media_type};base64,{source.data}"}}
