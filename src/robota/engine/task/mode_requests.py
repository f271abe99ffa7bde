"""What the model asks of the engine about modes: a subtask in one, or another mode for the task itself."""

import json
from typing import TYPE_CHECKING

from robota.contracts.tool import ChangeMode, Delegate, ToolCall, ToolResult
from robota.engine.runtime.task_runtime import TaskRuntime
from robota.protocol.asks.answer import Approve
from robota.protocol.asks.ask import ApprovalAsk
from robota.protocol.asks.seed import SeedAsk, view_in
from robota.protocol.permission_mode import PermissionMode
from robota.text.did_you_mean import what_there_is

if TYPE_CHECKING:
    from robota.engine.task.task import Task


async def handle_mode_request(task: "Task", request: Delegate | ChangeMode, call: ToolCall) -> ToolResult:
    """Do what the model asks for."""
    if isinstance(request, Delegate):
        return await _start_subtask(task, request, call)
    return await _change_mode(task, request, call)


async def _start_subtask(task: "Task", order: Delegate, call: ToolCall) -> ToolResult:
    """Run a subtask; a mode that may do more than the current one needs approval."""
    runtime = task.runtime
    if order.mode not in runtime.services.modes.roles:
        return _no_such_mode(runtime, order.mode)
    if runtime.permission_mode is not PermissionMode.BYPASS and runtime.services.modes.goes_beyond(
        order.mode, runtime.mode
    ):
        text = json.dumps({"tool": "newTask", "mode": order.mode, "content": order.message})
        otherwise = f"do it yourself in {runtime.mode} mode"
        refusal = await _ask_about_mode(runtime, f"Subtask in {order.mode} mode", text, call, otherwise)
        if refusal is not None:
            return refusal
    return await task.subtasks.delegate(order)


async def _change_mode(task: "Task", change: ChangeMode, call: ToolCall) -> ToolResult:
    """Switch the mode with approval, because another mode may do other things."""
    runtime, before = task.runtime, task.runtime.mode
    if change.mode not in runtime.services.modes.roles:
        return _no_such_mode(runtime, change.mode)
    if change.mode == before:
        return ToolResult(content=f"The task is already in {before} mode. Continue with the task.", is_error=True)
    if runtime.permission_mode is not PermissionMode.BYPASS:
        text = json.dumps({"tool": "switchMode", "mode": change.mode, "reason": change.reason})
        refusal = await _ask_about_mode(runtime, f"Mode {change.mode}", text, call, f"stay in {before} mode")
        if refusal is not None:
            return refusal
    runtime.switch_mode(change.mode)
    return ToolResult(content=f"The task is now in {change.mode} mode; it was in {before} mode.")


async def _ask_about_mode(
    runtime: TaskRuntime, title: str, text: str, call: ToolCall, otherwise: str
) -> ToolResult | None:
    """Ask whether another mode may be used; the result for the model if not, None if so."""
    if not runtime.can_change_mode and call.id not in runtime.resumed_answers:
        text = f"No user is present to approve it, so it was refused. Continue without it: {otherwise}."
        return ToolResult(content=text, is_error=True)
    seed = SeedAsk("tool", text)
    answer = await runtime.ask(ApprovalAsk(title=title, view=view_in(seed)), seed=seed, call_id=call.id)
    if isinstance(answer, Approve):
        return None
    feedback = f": {answer.text}" if answer.text else "."
    return ToolResult(content=f"The user refused. Continue without it: {otherwise}{feedback}", is_error=True)


def _no_such_mode(runtime: TaskRuntime, mode: str) -> ToolResult:
    text = f"There is no mode {mode!r}. {what_there_is(mode, runtime.services.modes.roles)}"
    return ToolResult(content=text, is_error=True)
