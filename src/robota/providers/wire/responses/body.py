"""The body of a Responses request, put together from pieces that were encoded once."""

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
from robota.providers.wire.responses.thinking import reasoning_items

RESERVED: Final = frozenset({"model", "input", "instructions", "tools", "stream", "store"})


class ResponsesBody:
    """Encodes requests of one conversation. `extra` holds additional fields from the profile's options.

    Nothing is stored on the server, so a reasoning model must return its reasoning, encrypted, for us to keep.
    `reasons` says which models can; the others reject the request.
    """

    def __init__(
        self, extra: dict[str, Any] | None = None, reasons: Callable[[str], bool] = lambda model: False
    ) -> None:
        self._extra = without(RESERVED, extra)
        self._reasons = reasons
        self._head = RequestHead(self._encode_head)
        self._fragments = TurnFragments(lambda turn, _: encode_turn(turn))

    def encode(self, request: ModelRequest) -> bytes:
        return self._fragments.of(request.turns).in_body(self._head.of(request))

    def _encode_head(self, request: ModelRequest) -> bytes:
        """Everything up to the opening of the list of items."""
        fields: dict[str, Any] = {"model": request.model, "stream": True, "store": False}
        if self._reasons(request.model):
            fields["include"] = ["reasoning.encrypted_content"]
        if request.cache_key is not None:
            fields["prompt_cache_key"] = request.cache_key
        fields |= self._extra
        if request.system:
            fields["instructions"] = request.system
        if request.max_output_tokens is not None:
            fields["max_output_tokens"] = request.max_output_tokens
        if request.tools:
            fields["tools"] = [_tool(tool) for tool in request.tools]
        return encode_json(fields)[:-1] + b',"input":['


def encode_turn(turn: Turn) -> bytes:
    """The items of one turn, separated by commas; empty if there is nothing to send."""
    items = _assistant(turn) if isinstance(turn, AssistantTurn) else _user(turn)
    return b",".join(map(encode_json, items))


def _tool(tool: ToolSpec) -> dict[str, Any]:
    fields = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", **fields, "strict": False}


def _assistant(turn: AssistantTurn) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for block in turn.content:
        match block:
            case TextBlock():
                items += [{"role": "assistant", "content": block.text}] if block.text else []
            case ThinkingBlock():
                items += reasoning_items(block)
            case ToolUseBlock():
                items.append(_call(block))
            case _:
                assert_never(block)
    while items and items[-1].get("type") == "reasoning":
        # The server refuses reasoning that led to nothing.
        items.pop()
    return items


def _call(call: ToolUseBlock) -> dict[str, Any]:
    arguments = encode_json(call.input).decode()
    return {"type": "function_call", "call_id": call.id, "name": safe_name(call.name), "arguments": arguments}


def _user(turn: UserTurn) -> list[dict[str, Any]]:
    """Results come first, because they must follow the calls; text and images come after them."""
    items: list[dict[str, Any]] = []
    content: list[dict[str, Any]] = []
    for block in turn.content:
        match block:
            case TextBlock():
                content += [_text_item(block.text)] if block.text else []
            case ImageBlock():
                content.append(_image(block.source))
            case ToolResultBlock():
                items.append(_result(block))
            case _:
                assert_never(block)
    return [*items, {"role": "user", "content": content}] if content else items


def _result(result: ToolResultBlock) -> dict[str, Any]:
    output: str | list[dict[str, Any]] = result.content
    if result.images:
        words = [_text_item(result.content)] if result.content else []
        output = [*words, *map(_image, result.images)]
    return {"type": "function_call_output", "call_id": result.tool_use_id, "output": output}


def _text_item(text: str) -> dict[str, Any]:
    return {"type": "input_text", "text": text}


def _image(source: ImageSource) -> dict[str, Any]:
    url = f"data:{source.media_type};base64,{source.data}"
    return {"type": "input_image", "image_url": url, "detail": "auto"}
