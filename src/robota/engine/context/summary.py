"""Asking the model for a summary of the conversation: one request of its own, without tools."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, assert_never

from robota.engine.context.cut import shorter
from robota.engine.model.plain_reply import plain_reply
from robota.engine.model.request import RequestRetry
from robota.engine.runtime.task_runtime import TaskRuntime
from robota.protocol.conversation import (
    AssistantBlock,
    AssistantTurn,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    Turn,
    UserBlock,
    UserTurn,
)
from robota.protocol.events import Thinking
from robota.providers.chunks import ModelRequest

INSTRUCTION: Final = (
    "The conversation ends here. Write the summary of all of it now, as you were told, between <summary> and "
    "</summary>. Call no tool."
)
FOCUS: Final = "What the summary must keep above all:"


class Summariser:
    """Asks for summaries for one task. What a try cost is counted, also if it failed."""

    def __init__(self, runtime: TaskRuntime, request_retry: RequestRetry) -> None:
        self._runtime = runtime
        self._request_retry = request_retry

    async def summarise(self, turns: Sequence[Turn], room: int, focus: str = "") -> str:
        """The summary of a valid history, of which no more than `room` characters are sent; it may be empty.

        Raises `ProviderFault`.
        """
        asked = summary_turns(turns, room, focus)
        self._runtime.bus.emit(Thinking(task_id=self._runtime.task_id, is_thinking=True))
        try:
            return await self._request_retry.persist(lambda: self._attempt(asked))
        finally:
            self._runtime.bus.emit(Thinking(task_id=self._runtime.task_id, is_thinking=False))

    async def _attempt(self, turns: tuple[Turn, ...]) -> str:
        request = ModelRequest(
            model=self._request_retry.model,
            system=Path(__file__).with_suffix(".md").read_text(encoding="utf-8").strip(),
            turns=turns,
            max_output_tokens=self._runtime.services.model.info.max_output_tokens,
        )
        return summary_in(await plain_reply(self._runtime, request))


def summary_turns(turns: Sequence[Turn], room: int, focus: str = "") -> tuple[Turn, ...]:
    """The history as plain words, because a request without tools may not hold calls; then the instruction."""
    turns_sent: list[Turn] = []
    for turn in shorter(turns, room):
        words = [text for block in turn.content if (text := _told(block))] or ["(nothing)"]
        side = AssistantTurn if isinstance(turn, AssistantTurn) else UserTurn
        turns_sent.append(side(content=tuple(TextBlock(text=text) for text in words)))
    instruction = TextBlock(text=f"{INSTRUCTION}\n\n{FOCUS} {focus}" if focus else INSTRUCTION)
    if turns_sent and isinstance(turns_sent[-1], UserTurn):
        turns_sent[-1] = UserTurn(content=(*turns_sent[-1].content, instruction))
    else:
        turns_sent.append(UserTurn(content=(instruction,)))
    return tuple(turns_sent)


def summary_in(text: str) -> str:
    """The summary itself; all of the text if the model did not mark it."""
    marked = re.search(r"<summary>(.*?)(?:</summary>|\Z)", text, re.DOTALL)
    return (marked[1] if marked else text).strip()


def _told(block: AssistantBlock | UserBlock) -> str:
    match block:
        case TextBlock():
            return block.text
        case ToolUseBlock():
            return f"[call {block.id} of {block.name}]\n{_arguments(block)}"
        case ToolResultBlock():
            return f"[{'error' if block.is_error else 'result'} of call {block.tool_use_id}]\n{block.content}"
        case ImageBlock():
            return "[image]"
        case ThinkingBlock():
            return ""
        case _:
            assert_never(block)


def _arguments(call: ToolUseBlock) -> str:
    return "\n".join(f"{name}: {value}" for name, value in call.input.items())
