"""Asks the user a question of the model."""

from robota.contracts.tool import ToolCall, ToolResult
from robota.engine.runtime.task_runtime import TaskRuntime
from robota.engine.task.timed_question import ask_with_limit
from robota.protocol.asks.ask import QuestionAsk
from robota.protocol.conversation import image_blocks


async def ask_question(runtime: TaskRuntime, question: QuestionAsk, call: ToolCall) -> ToolResult:
    """The answer, for the model. Choosing a suggestion that names a mode also switches to that mode."""
    note = ""
    if runtime.options.settings.question_timeout_seconds and question.suggestions:
        answer, note = await ask_with_limit(runtime, question, call.id)
    else:
        answer = await runtime.ask(question, call_id=call.id)
    if note:
        return ToolResult(content=f"{note}\n{answer.text}")
    runtime.rows.say("user_feedback", answer.text, images=answer.images or None)
    modes = {each.answer: each.mode for each in question.suggestions}
    mode = modes.get(answer.text)
    content = f"<user_message>\n{answer.text}\n</user_message>"
    if mode is not None and mode != runtime.mode and mode in runtime.services.modes.roles:
        runtime.switch_mode(mode)
        content = f"{content}\nWith this answer the task is now in {mode} mode."
    return ToolResult(content=content, images=tuple(block.source for block in image_blocks(answer.images)))
