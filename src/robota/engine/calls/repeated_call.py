"""The answer to a call that the repetition guard refuses."""

from typing import Final

from robota.engine.calls.call_stopped import TaskGivenUp
from robota.engine.runtime.task_runtime import TaskRuntime
from robota.protocol.asks.answer import Approve
from robota.protocol.asks.ask import MistakeKind, MistakesAsk

REPEATING: Final = "The model is repeating the same tool call. Tell it how to continue, or start a new task."
LAST_WARNING: Final = "This is the last warning: the next repetition ends the task."


async def answer_repetition(runtime: TaskRuntime, tool: str, *, asks: bool, is_last: bool) -> str:
    """The message for the model. With `asks` the user is asked too, and `TaskGivenUp` is raised if they say no."""
    message = f"Tool call repetition limit reached for {tool}. Please try a different approach."
    message = f"{message} {LAST_WARNING}" if is_last else message
    if asks:
        answer = await runtime.ask(MistakesAsk(message=REPEATING, mistake=MistakeKind.REPEATED_CALL))
        if answer.has_words:
            runtime.rows.say("user_feedback", answer.text, images=answer.images or None)
            message = f"{message} The user says: {answer.text}"
        elif not isinstance(answer, Approve):
            raise TaskGivenUp("The user stopped the task, because the model kept repeating the same call.")
    return message
