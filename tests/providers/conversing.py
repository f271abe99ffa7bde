"""Short ways to make requests and to gather replies."""

from collections.abc import Mapping, Sequence
from typing import Any

from robota.config.profiles.profile import Profile
from robota.protocol.conversation import AssistantTurn, TextBlock, ToolResultBlock, ToolUseBlock, Turn, UserTurn
from robota.providers.chunks import (
    CallArgumentsChunk,
    CallStartChunk,
    Chunk,
    FinishChunk,
    ModelRequest,
    Provider,
    TextChunk,
    ToolSpec,
)
from robota.providers.registry import create

READ_FILE = ToolSpec(
    name="read_file",
    description="Reads a file.",
    schema={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)


def user(text: str) -> UserTurn:
    return UserTurn(content=(TextBlock(text=text),))


def calling(name: str, arguments: dict[str, Any], call_id: str = "c1", text: str = "") -> AssistantTurn:
    call = ToolUseBlock(id=call_id, name=name, input=arguments)
    return AssistantTurn(content=(TextBlock(text=text), call) if text else (call,))


def result(content: str, call_id: str = "c1", is_error: bool = False) -> UserTurn:
    return UserTurn(content=(ToolResultBlock(tool_use_id=call_id, content=content, is_error=is_error),))


def request(*turns: Turn, tools: tuple[ToolSpec, ...] = (READ_FILE,)) -> ModelRequest:
    return ModelRequest(model="fake-model", system="Be brief.", turns=turns or (user("hello"),), tools=tools)


def provider_at(url: str, *, env: Mapping[str, str] | None = None, **fields: Any) -> Provider:
    profile = Profile(type="openai-compatible", name="fake", base_url=f"{url}/v1", **{"model": "fake-model", **fields})
    return create(profile, env or {})


async def whole_reply(provider: Provider, asked: ModelRequest | None = None) -> list[Chunk]:
    """All chunks of one reply; closes nothing."""
    return [chunk async for batch in provider.stream(asked or request()) for chunk in batch]


async def reply_then_close(provider: Provider, asked: ModelRequest | None = None) -> list[Chunk]:
    try:
        return await whole_reply(provider, asked)
    finally:
        await provider.close()


def text_of(chunks: Sequence[Chunk]) -> str:
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk))


def calls_of(chunks: Sequence[Chunk]) -> list[tuple[str, str, str]]:
    """Id, name and argument text of each call, in order."""
    starts = [chunk for chunk in chunks if isinstance(chunk, CallStartChunk)]
    pieces = [chunk for chunk in chunks if isinstance(chunk, CallArgumentsChunk)]
    return [
        (start.id, start.name, "".join(piece.json for piece in pieces if piece.index == start.index))
        for start in starts
    ]


def finish_of(chunks: Sequence[Chunk]) -> str:
    last = chunks[-1]
    assert isinstance(last, FinishChunk)
    return last.reason
