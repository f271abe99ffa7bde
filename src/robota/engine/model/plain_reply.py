"""A request outside the conversation, of whose reply only the text is used."""

from typing import assert_never

import msgspec

from robota.engine.model.reply import ReplyLength
from robota.engine.runtime.task_runtime import TaskRuntime
from robota.protocol.conversation import Usage
from robota.providers.chunks import (
    CallArgumentsChunk,
    CallStartChunk,
    FinishChunk,
    ModelRequest,
    TextChunk,
    ThinkingChunk,
    UsageChunk,
)
from robota.providers.fault import FaultKind, ProviderFault


class PlainReply(msgspec.Struct, frozen=True, kw_only=True):
    """The text of a reply, and whether the model called tools, which are not run."""

    text: str
    has_calls: bool


async def plain_reply(runtime: TaskRuntime, request: ModelRequest) -> PlainReply:
    """The reply. Its cost is counted for the task, also if the request fails.

    Raises `ProviderFault`.
    """
    texts: list[str] = []
    length = ReplyLength()
    counted, finish = UsageChunk(Usage()), None
    stream = runtime.services.model.provider.stream(request)
    try:
        async for batch in stream:
            for chunk in batch:
                length.count(chunk)
                match chunk:
                    case TextChunk():
                        texts.append(chunk.text)
                    case UsageChunk():
                        counted = chunk
                    case FinishChunk():
                        finish = chunk.reason
                    case ThinkingChunk() | CallStartChunk() | CallArgumentsChunk():
                        pass
                    case _:
                        assert_never(chunk)
    finally:
        is_counted = finish is not None or counted.usage != Usage()
        cost = counted.cost if is_counted else 0.0
        runtime.meter.side_request(counted.usage, cost, counted.saved)
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()
    if finish is None:
        raise ProviderFault(FaultKind.STREAM_CUT, "The answer ended before it was complete.")
    return PlainReply(text="".join(texts), has_calls=finish == "tool_use")
