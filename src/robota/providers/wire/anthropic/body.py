"""The body of a Messages request, put together from pieces that were encoded once."""

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
from robota.providers.wire.anthropic.thinking import thought_blocks
from robota.providers.wire.body import RequestHead, TurnFragments, encode_json, safe_name, without

DEFAULT_MAX_TOKENS: Final = 16_384
RESERVED: Final = frozenset({"model", "messages", "system", "tools", "stream", "max_tokens"})
# The server takes four marks: after the tools, after the system prompt, and after the two newest user turns. The
# older of these two is where the last request put its newest mark, so what that request stored is found again.
MARKED_USER_TURNS: Final = 2
MESSAGE_END: Final = b"}]}"


class AnthropicBody:
    """Encodes requests of one conversation. `extra` holds additional fields from the profile's options.

    `cache_control` is the mark that makes the server cache everything before it; None sets no marks.
    """

    def __init__(self, extra: dict[str, Any] | None = None, cache_control: dict[str, str] | None = None) -> None:
        self._extra = without(RESERVED, extra)
        self._mark = {"cache_control": cache_control} if cache_control else {}
        self._marked_end = b"," + encode_json(self._mark)[1:-1] + MESSAGE_END if self._mark else MESSAGE_END
        self._head = RequestHead(self._encode_head)
        self._fragments = TurnFragments(lambda turn, _: encode_turn(turn))

    def encode(self, request: ModelRequest) -> bytes:
        encoded = self._fragments.of(request.turns)
        newest = encoded.newest
        turns = request.turns[len(request.turns) - len(newest) :]
        users = [index for index, turn in enumerate(turns) if isinstance(turn, UserTurn) and newest[index]]
        for index in users[-MARKED_USER_TURNS:]:
            newest[index] = newest[index].removesuffix(MESSAGE_END) + self._marked_end
        return encoded.in_body(self._head.of(request))

    def _encode_head(self, request: ModelRequest) -> bytes:
        """Everything up to the opening of the list of messages."""
        fields: dict[str, Any] = {
            "model": request.model,
            "max_tokens": request.max_output_tokens or DEFAULT_MAX_TOKENS,
            "stream": True,
            **self._extra,
        }
        if request.tools:
            tools = [_tool(tool) for tool in request.tools]
            fields["tools"] = [*tools[:-1], {**tools[-1], **self._mark}]
        if request.system.strip():
            fields["system"] = [{"type": "text", "text": request.system, **self._mark}]
        return encode_json(fields)[:-1] + b',"messages":['


def encode_turn(turn: Turn) -> bytes:
    """The message of a turn, ending with its content; empty if there is nothing to send."""
    blocks = _assistant(turn) if isinstance(turn, AssistantTurn) else _user(turn)
    if not blocks:
        return b""
    role = b"assistant" if isinstance(turn, AssistantTurn) else b"user"
    return b'{"role":"' + role + b'","content":[' + b",".join(map(encode_json, blocks)) + b"]}"


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.schema}


def _assistant(turn: AssistantTurn) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for block in turn.content:
        match block:
            case TextBlock():
                blocks += _text_blocks(block.text)
            case ThinkingBlock():
                blocks += thought_blocks(block)
            case ToolUseBlock():
                blocks.append({"type": "tool_use", "id": block.id, "name": safe_name(block.name), "input": block.input})
            case _:
                assert_never(block)
    # The server refuses a message that consists only of thoughts.
    return blocks if any(block["type"] in ("text", "tool_use") for block in blocks) else []


def _user(turn: UserTurn) -> list[dict[str, Any]]:
    """Results come first, because the server wants them right after the calls."""
    results: list[dict[str, Any]] = []
    others: list[dict[str, Any]] = []
    for block in turn.content:
        match block:
            case TextBlock():
                others += _text_blocks(block.text)
            case ImageBlock():
                others.append(_image(block.source))
            case ToolResultBlock():
                results.append(_result(block))
            case _:
                assert_never(block)
    return results + others


def _result(result: ToolResultBlock) -> dict[str, Any]:
    content: str | list[dict[str, Any]] = result.content
    if result.images:
        content = [*_text_blocks(result.content), *map(_image, result.images)]
    fields = {"type": "tool_result", "tool_use_id": result.tool_use_id, "content": content}
    return {**fields, "is_error": True} if result.is_error else fields


def _text_blocks(text: str) -> list[dict[str, Any]]:
    """The server refuses blank text."""
    return [{"type": "text", "text": text}] if text.strip() else []


def _image(source: ImageSource) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": source.media_type, "data": source.data}}
