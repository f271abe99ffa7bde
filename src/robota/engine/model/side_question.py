"""Asks a model outside the conversation, for hooks that leave a decision to a model."""

from typing import Final

from robota.contracts.hook import ModelUnavailable
from robota.engine.model.plain_reply import plain_reply
from robota.engine.runtime.task_runtime import TaskRuntime
from robota.protocol.conversation import TextBlock, UserTurn
from robota.providers.chunks import ModelRequest
from robota.providers.fault import ProviderFault

MAX_TOKENS: Final = 2_000


async def answer_beside(runtime: TaskRuntime, instructions: str, text: str, model: str | None) -> str:
    """The answer of a model of the same provider. Its cost is counted for the task. Raises `ModelUnavailable`."""
    request = ModelRequest(
        model=model or runtime.options.model,
        system=instructions,
        turns=(UserTurn(content=(TextBlock(text=text),)),),
        max_output_tokens=min(MAX_TOKENS, runtime.services.model.info.max_output_tokens or MAX_TOKENS),
    )
    try:
        return (await plain_reply(runtime, request)).text
    except ProviderFault as fault:
        raise ModelUnavailable(fault.message) from fault
    finally:
        runtime.emit_usage()
