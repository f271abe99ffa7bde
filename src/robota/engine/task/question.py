"""A question of the model to the user, perhaps with a time limit after which its first suggestion is the answer."""

import asyncio
from typing import Final

import msgspec

from robota.contracts.tool import ToolCall, ToolResult
from robota.engine.runtime.task_runtime import TaskRuntime
from robota.protocol.asks.answer import Answer, Say
from robota.protocol.asks.ask import QuestionAsk
from robota.protocol.conversation import image_blocks
from robota.text.counted import counted

NOBODY_ANSWERED: Final = "Nobody answered within {}, so the first suggestion was taken: {}"
FOR_MODEL: Final = (
    "The user did not answer in time; this is your first suggestion. Say in your reply that you went on with it."
)
NO_ANSWER: Final = (
    "The user closed the question without an answer. Continue with the safest reasonable assumption, and state it."
)


async def ask_question(runtime: TaskRuntime, question: QuestionAsk, call: ToolCall) -> ToolResult:
    """Ask the user. Choosing a suggestion that names a mode also switches to that mode."""
    if runtime.options.settings.question_timeout_seconds and question.suggestions:
        answer, was_taken = await _ask_with_limit(runtime, question, call.id)
        if was_taken:
            return ToolResult(content=f"{FOR_MODEL}\n{answer.text}")
    else:
        answer = await runtime.ask(question, call_id=call.id)
    runtime.rows.say("user_feedback", answer.text, images=answer.images or None)
    if runtime.is_alone or not answer.has_words:
        return ToolResult(content=answer.text or NO_ANSWER)
    content = f"<user_message>\n{answer.text}\n</user_message>"
    modes = {each.answer: each.mode for each in question.suggestions}
    mode = modes.get(answer.text)
    if mode is not None and mode != runtime.mode and mode in runtime.services.modes.roles:
        runtime.switch_mode(mode)
        content = f"{content}\nWith this answer the task is now in {mode} mode."
    return ToolResult(content=content, images=tuple(block.source for block in image_blocks(answer.images)))


async def _ask_with_limit(runtime: TaskRuntime, question: QuestionAsk, call_id: str) -> tuple[Answer, bool]:
    """The answer, and whether it is only the first suggestion, because nobody answered in time."""
    limit_s = runtime.options.settings.question_timeout_seconds
    first = question.suggestions[0].answer
    was_taken = False

    def take_first() -> None:
        nonlocal was_taken
        pending = runtime.asks.newest_of(runtime.task_id)
        if pending is not None and pending.message.call_id == call_id:
            was_taken = True
            runtime.asks.settle(pending, Say(text=first))

    timer = asyncio.get_running_loop().call_later(limit_s, take_first)
    try:
        asked = msgspec.structs.replace(question, default_after_s=limit_s)
        answer = await runtime.ask(asked, call_id=call_id)
    finally:
        timer.cancel()
    if was_taken:
        runtime.warn(NOBODY_ANSWERED.format(counted(round(limit_s), "second"), first))
    return answer, was_taken
