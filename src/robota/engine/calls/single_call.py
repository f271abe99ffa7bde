"""One tool call without a model: the same executor, policy, hooks and log as in a task."""

from contextlib import suppress
from typing import Any, Final

from robota.contracts.tool import BadArguments, Control, Effect, ToolCall, ToolResult
from robota.engine.calls.executor import Executed, ToolExecutor
from robota.engine.model.normal_form import NormalForm
from robota.engine.model.reply import NativeCallFormat
from robota.engine.record.history import History
from robota.engine.record.journal import EventBus, Journal
from robota.engine.record.rows import Rows
from robota.engine.runtime.options import Options
from robota.engine.runtime.services import SessionServices
from robota.engine.runtime.task_runtime import TaskRuntime
from robota.engine.runtime.user_input import AskTable, MessageQueue
from robota.log.kinds.session import EndRecord, TaskRecord
from robota.protocol.conversation import AssistantTurn, ToolResultBlock, ToolUseBlock
from robota.workspace.problems import FileProblem
from robota.workspace.text.source import MAX_SOURCE_BYTES

CALL_ID: Final = "call_1"


async def call_once(options: Options, services: SessionServices, tool: str, arguments: dict[str, Any]) -> Executed:
    """Run one call as a session of its own. It may overwrite a file that was not read before."""
    _mark_as_read(services, tool, arguments)
    return await run_call(options, services, tool, arguments)


async def run_call(options: Options, services: SessionServices, tool: str, arguments: dict[str, Any]) -> Executed:
    """Run one call as a task of its own. Nobody is asked: `options.launch.attended` should be false."""
    runtime = _runtime(options, services)
    call = NormalForm(services.tools.all).of(ToolCall(id=CALL_ID, name=tool, input=arguments))
    runtime.history.add_reply(AssistantTurn(content=(ToolUseBlock(id=CALL_ID, name=call.name, input=call.input),)))
    outcome = "interrupted"
    try:
        [executed] = await ToolExecutor(runtime, refuse_control).run([call])
        result = executed.result
        runtime.history.add_user(
            [ToolResultBlock(tool_use_id=CALL_ID, content=result.content, is_error=result.is_error)]
        )
        outcome = "completed" if executed.status == "success" else "failed"
    finally:
        runtime.history.close_calls()
        runtime.journal.write(EndRecord(task_id=runtime.task_id, outcome=outcome))
    await runtime.journal.sync()
    return executed


def _runtime(options: Options, services: SessionServices) -> TaskRuntime:
    bus = EventBus(services.redactor)
    journal = Journal(services.log, bus)
    task_id = f"task-{journal.next_ts()}"
    journal.write(TaskRecord(task_id=task_id, mode=options.mode))
    return TaskRuntime(
        options=options,
        services=services,
        bus=bus,
        journal=journal,
        asks=AskTable(),
        queue=MessageQueue(journal, lambda queue: None),
        rows=Rows(task_id, journal, bus),
        history=History(task_id, journal, NativeCallFormat()),
        mode=options.mode,
        permission_mode=options.permission_mode,
    )


def _mark_as_read(services: SessionServices, name: str, arguments: dict[str, Any]) -> None:
    """Mark the files of a writing call as read.

    A model must read a file before it overwrites it. Here there is no model and no earlier call that could have.
    """
    tool = next((tool for tool in services.tools.all if tool.name == name), None)
    if tool is None or Effect.WRITE not in tool.effects:
        return
    with suppress(BadArguments):
        for path in tool.touches(tool.decode(arguments)).paths:
            with suppress(FileProblem):
                services.files.note_read(services.files.read(path, MAX_SOURCE_BYTES))


async def refuse_control(control: Control, call: ToolCall) -> ToolResult:
    """Nobody in a task carries out what such a call orders."""
    text = f"{call.name} works only in a task, where a model or a user can act on it. Nothing was done."
    return ToolResult(content=text, is_error=True)
