"""Asks the model for a summary, in a request that begins like the conversation so that the prompt cache holds."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, assert_never

from robota.engine.context.cut import shorter
from robota.engine.model.plain_reply import plain_reply
from robota.engine.model.request import RequestRetry
from robota.engine.record.history import characters_of
from robota.engine.runtime.task_runtime import TaskHead, TaskRuntime
from robota.log.replay.context import Summary, interrupted_result, unanswered
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

MAX_SUMMARY_WORDS: Final = 1_500
SUMMARY_HEADING: Final = "# Summary of the conversation so far"
CARRY_OVER: Final = f"""
- The conversation begins with an earlier summary ("{SUMMARY_HEADING}"). Carry over every fact in it that still holds, \
in the same words. Correct what has changed since. Drop only what is done and no longer needed."""
FOCUS: Final = "\nAbove all, the summary must keep this: {}\n"


class Summariser:
    """Asks for summaries for one task. What a try cost is counted, also if it failed."""

    def __init__(self, runtime: TaskRuntime, request_retry: RequestRetry) -> None:
        self._runtime = runtime
        self._request_retry = request_retry

    async def summarise(self, room: int, focus: str = "") -> str:
        """The summary of the history, of which no more than `room` characters are sent; it may be empty.

        Raises `ProviderFault`.
        """
        history = self._runtime.history
        has_summary = any(isinstance(piece.reduction, Summary) for piece in history.pieces)
        instruction = condense_instruction(focus, has_summary=has_summary)
        turns = history.prepared
        if sum(map(characters_of, turns)) > (left := max(0, room - len(instruction))):
            turns = tuple(shorter(turns, left))
        self._runtime.bus.emit(Thinking(task_id=self._runtime.task_id, is_thinking=True))
        try:
            return await self._request_retry.persist(lambda: self._attempt(turns, instruction))
        finally:
            self._runtime.bus.emit(Thinking(task_id=self._runtime.task_id, is_thinking=False))

    async def _attempt(self, turns: Sequence[Turn], instruction: str) -> str:
        reply = await plain_reply(self._runtime, self._request(self._runtime.head, asked_after(turns, instruction)))
        if reply.has_calls and not reply.text.strip():
            # Some models continue working as long as they have tools.
            without_tools = TaskHead(system=instruction)
            words = asked_after(in_words(turns), instruction)
            reply = await plain_reply(self._runtime, self._request(without_tools, words))
        return summary_in(reply.text)

    def _request(self, head: TaskHead, turns: tuple[Turn, ...]) -> ModelRequest:
        return ModelRequest(
            model=self._request_retry.model,
            system=head.system,
            turns=turns,
            tools=head.tools,
            max_output_tokens=self._runtime.services.model.info.max_output_tokens,
            cache_key=self._runtime.options.session_id,
        )


def condense_instruction(focus: str, *, has_summary: bool) -> str:
    """The request for a summary, which comes after the conversation."""
    text = Path(__file__).with_suffix(".md").read_text(encoding="utf-8").strip()
    carry_over = CARRY_OVER if has_summary else ""
    return text.format(
        words=f"{MAX_SUMMARY_WORDS:,}", carry_over=carry_over, focus=FOCUS.format(focus) if focus else ""
    )


def asked_after(turns: Sequence[Turn], instruction: str) -> tuple[Turn, ...]:
    """The turns, the same objects as far as possible, with the instruction as the last that is said."""
    last, asked = turns[-1] if turns else None, TextBlock(text=instruction)
    if isinstance(last, UserTurn):
        return (*turns[:-1], UserTurn(content=(*last.content, asked)))
    return (*turns, UserTurn(content=(*(interrupted_result(call.id) for call in unanswered(last)), asked)))


def in_words(turns: Sequence[Turn]) -> list[Turn]:
    """The history as plain words, because a request without tools may not hold calls."""
    told: list[Turn] = []
    for turn in turns:
        words = [text for block in turn.content if (text := _block_text(block))] or ["(nothing)"]
        side = AssistantTurn if isinstance(turn, AssistantTurn) else UserTurn
        told.append(side(content=tuple(TextBlock(text=text) for text in words)))
    return told


def summary_in(text: str) -> str:
    """The summary itself; all of the text if the model did not mark it."""
    marked = re.search(r"<summary>(.*?)(?:</summary>|\Z)", text, re.DOTALL)
    return (marked[1] if marked else text).strip()


def _block_text(block: AssistantBlock | UserBlock) -> str:
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
