"""A request outside the conversation, of whose reply only the text is used."""

from typing import TYPE_CHECKING, assert_never

import msgspec

from robota.engine.model.reply import ReplyLength, is_plausible
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

if TYPE_CHECKING:
    from robota.engine.budgets.task_budget import RequestHold


class PlainReply(msgspec.Struct, frozen=True, kw_only=True):
    """The text of a reply, and whether the model called tools, which are not run."""

    text: str
    has_calls: bool


async def plain_reply(runtime: TaskRuntime, request: ModelRequest) -> PlainReply:
    """The reply. Its cost is counted for the task, also if the request fails.

    Raises `ProviderFault`.
    """
    if runtime.budget is None:
        return await _reply(runtime, request, None)
    # Imported here because few sessions are limited.
    from robota.engine.budgets.account import Exhausted
    from robota.engine.budgets.session_budget import refusal

    try:
        hold = await runtime.budget.hold(request)
    except Exhausted as error:
        raise ProviderFault(FaultKind.BILLING, refusal(error)) from error
    with hold:
        return await _reply(runtime, hold.request, hold)


async def _reply(runtime: TaskRuntime, request: ModelRequest, hold: "RequestHold | None") -> PlainReply:
    texts: list[str] = []
    length = ReplyLength()
    counted, finish, has_begun = UsageChunk(Usage()), None, False
    stream = runtime.services.model.provider.stream(request)
    try:
        async for batch in stream:
            has_begun = True
            for chunk in batch:
                length.count(chunk)
                match chunk:
                    case TextChunk():
                        texts.append(chunk.text)
                    case UsageChunk():
                        counted = chunk if is_plausible(chunk) else counted
                    case FinishChunk():
                        finish = chunk.reason
                    case ThinkingChunk() | CallStartChunk() | CallArgumentsChunk():
                        pass
                    case _:
                        assert_never(chunk)
    finally:
        is_counted = finish is not None or counted.usage != Usage()
        cost = counted.cost if is_counted else 0.0
        _settle(hold, counted, finish, was_answered=has_begun)
        runtime.meter.side_request(counted.usage, cost, counted.saved)
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()
    if finish is None:
        raise ProviderFault(FaultKind.STREAM_CUT, "The answer ended before it was complete.")
    return PlainReply(text="".join(texts), has_calls=finish == "tool_use")


def _settle(hold: "RequestHold | None", counted: UsageChunk, finish: str | None, *, was_answered: bool) -> None:
    """Charge the budget, if there is one."""
    if hold is not None:
        hold.settle(counted.usage, counted.cost, finish, was_answered=was_answered)
