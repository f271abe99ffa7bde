"""A question of the model with a time limit: after it, the first suggestion counts as the answer."""

import asyncio

import msgspec

from robota.engine.runtime.task_runtime import TaskRuntime
from robota.protocol.asks.answer import Answer, Say
from robota.protocol.asks.ask import QuestionAsk
from robota.text.counted import counted

NOBODY_ANSWERED = "Nobody answered within {}, so the first suggestion was taken: {}"
FOR_MODEL = (
    "The user did not answer in time; this is your first suggestion. Say in your reply that you went on with it."
)


async def ask_with_limit(runtime: TaskRuntime, question: QuestionAsk, call_id: str) -> tuple[Answer, str]:
    """The answer, and a text for the model if nobody gave it."""
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
    if not was_taken:
        return answer, ""
    runtime.warn(NOBODY_ANSWERED.format(counted(round(limit_s), "second"), first))
    return answer, FOR_MODEL
