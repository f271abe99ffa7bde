"""The body of a streamGenerateContent request, put together from pieces that were encoded once."""

import re
from collections.abc import Callable
from typing import Any, Final, assert_never

from robota.protocol.conversation import (
    AssistantTurn,
    ImageBlock,
    ImageSource,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    Turn,
    UserTurn,
)
from robota.providers.chunks import ModelRequest, ToolSpec
from robota.providers.wire.body import RequestHead, TurnFragments, encode_json, safe_name, without
from robota.providers.wire.gemini.schema import gemini_schema
from robota.providers.wire.gemini.thinking import NOT_SIGNED, signatures_of

RESERVED: Final = frozenset({"contents", "tools", "systemInstruction"})
WANTS_SIGNATURES: Final = re.compile(r"(models/)?gemini-([3-9]|\d\d)")


class GeminiBody:
    """Encodes requests of one conversation. `extra` holds additional fields from the profile's options.

    `thinks` says which models can show their thoughts; the others refuse to be asked.
    """

    def __init__(
        self, extra: dict[str, Any] | None = None, thinks: Callable[[str], bool] = lambda model: False
    ) -> None:
        self._extra = without(RESERVED, extra)
        self._thinks = thinks
        self._head = RequestHead(self._encode_head)
        self._signs = False
        self._fragments = TurnFragments(self._encode_turn)

    def encode(self, request: ModelRequest) -> bytes:
        signs = WANTS_SIGNATURES.match(request.model) is not None
        if signs is not self._signs:
            self._signs, self._fragments = signs, TurnFragments(self._encode_turn)
        return self._fragments.of(request.turns).in_body(self._head.of(request))

    def _encode_turn(self, turn: Turn, previous: Turn | None) -> bytes:
        return encode_turn(turn, previous, self._signs)

    def _encode_head(self, request: ModelRequest) -> bytes:
        """Everything up to the opening of the list of contents."""
        fields = dict(self._extra)
        config = {**fields.pop("generationConfig", {})}
        if request.max_output_tokens is not None:
            config["maxOutputTokens"] = request.max_output_tokens
        if self._thinks(request.model):
            config["thinkingConfig"] = {"includeThoughts": True, **config.get("thinkingConfig", {})}
        if config:
            fields["generationConfig"] = config
        if request.system:
            fields["systemInstruction"] = {"parts": [{"text": request.system}]}
        if request.tools:
            fields["tools"] = [{"functionDeclarations": [_function(tool) for tool in request.tools]}]
        head = encode_json(fields)[:-1]
        return head + (b"," if fields else b"") + b'"contents":['


def encode_turn(turn: Turn, previous: Turn | None, signs: bool) -> bytes:
    """The content of a turn; empty if there is nothing to send. `signs` is for models that require signed calls."""
    parts = _assistant(turn, signs) if isinstance(turn, AssistantTurn) else _user(turn, previous)
    if not parts:
        return b""
    return encode_json({"role": "model" if isinstance(turn, AssistantTurn) else "user", "parts": parts})


def _function(tool: ToolSpec) -> dict[str, Any]:
    parameters = gemini_schema(tool.schema)
    fields = {"name": tool.name, "description": tool.description}
    # The server refuses an object without properties; a function without arguments has no `parameters`.
    return {**fields, "parameters": parameters} if parameters.get("properties") else fields


def _assistant(turn: AssistantTurn, signs: bool) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    signature = ""
    for block in turn.content:
        match block:
            case ThinkingBlock():
                kept = signatures_of(block)
                signature = kept.next
                if kept.last:
                    parts[-1:] = _signed_text(parts[-1:], kept.last, kept.length)
                if kept.own:
                    parts.append({"text": block.thinking, "thought": True, "thoughtSignature": kept.own})
            case ToolUseBlock():
                parts.append(_call(block, signature))
                signature = ""
            case TextBlock():
                parts += _text_parts(block.text)
            case _:
                assert_never(block)
    if signs:
        _sign_first_call(parts)
    return parts


def _signed_text(last: list[dict[str, Any]], signature: str, length: int) -> list[dict[str, Any]]:
    """Cut off the end of the text that the signature belongs to: a signed part must not be joined with another."""
    text = last[0].get("text", "") if last else ""
    if not text or len(text) < length:
        return [*last, {"text": "", "thoughtSignature": signature}]
    start, end = text[: len(text) - length], text[len(text) - length :]
    return [*([{"text": start}] if start else []), {"text": end, "thoughtSignature": signature}]


def _call(call: ToolUseBlock, signature: str) -> dict[str, Any]:
    part = {"functionCall": {"id": call.id, "name": safe_name(call.name), "args": call.input}}
    return {**part, "thoughtSignature": signature} if signature else part


def _sign_first_call(parts: list[dict[str, Any]]) -> None:
    """The server signs only the first of several parallel calls, and requires only that signature."""
    first = next((part for part in parts if "functionCall" in part), None)
    if first is not None:
        first.setdefault("thoughtSignature", NOT_SIGNED)


def _user(turn: UserTurn, previous: Turn | None) -> list[dict[str, Any]]:
    """Results come first, followed by their images as separate parts: not every model accepts images in results."""
    calls = previous.tool_uses if isinstance(previous, AssistantTurn) else ()
    names = {call.id: safe_name(call.name) for call in calls}
    results: list[dict[str, Any]] = []
    pictures: list[dict[str, Any]] = []
    others: list[dict[str, Any]] = []
    for block in turn.content:
        match block:
            case ToolResultBlock():
                results.append(_result(block, names.get(block.tool_use_id, "unknown")))
                pictures += map(_image, block.images)
            case ImageBlock():
                others.append(_image(block.source))
            case TextBlock():
                others += _text_parts(block.text)
            case _:
                assert_never(block)
    return results + pictures + others


def _text_parts(text: str) -> list[dict[str, Any]]:
    """The server refuses a part without text."""
    return [{"text": text}] if text else []


def _result(result: ToolResultBlock, name: str) -> dict[str, Any]:
    response = {"error" if result.is_error else "output": result.content}
    return {"functionResponse": {"id": result.tool_use_id, "name": name, "response": response}}


def _image(source: ImageSource) -> dict[str, Any]:
    return {"inlineData": {"mimeType": source.media_type, "data": source.data}}
