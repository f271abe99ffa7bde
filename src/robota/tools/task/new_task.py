"""Delegate work to a separate task."""

from typing import Annotated

import msgspec

from robota.contracts.tool import Delegate, HookNames, Preview, titled
from robota.protocol.calls import CallPurpose
from robota.tools.presentation import SayTool, tool_ask
from robota.tools.steering_tool import steering_tool


class NewTaskParams(msgspec.Struct, frozen=True, kw_only=True):
    mode: Annotated[str, msgspec.Meta(description="Its mode, for example `code`.")]
    message: str
    todos: Annotated[str | None, msgspec.Meta(description="Its todo list, as a checklist.")] = None


def order(params: NewTaskParams) -> Delegate:
    """The subtask that the engine starts."""
    from robota.tools.task.checklist import parse_checklist

    return Delegate(mode=params.mode, message=params.message, todos=parse_checklist(params.todos or ""))


def preview(params: NewTaskParams) -> Preview:
    """The subtask as the seed's clients read it."""
    from robota.tools.task.checklist import as_rows

    todos = as_rows(order(params).todos)
    return tool_ask(SayTool(tool="newTask", mode=params.mode, content=params.message, todos=todos))


TOOL = steering_tool(
    __file__,
    NewTaskParams,
    order,
    preview,
    title=titled("Subtask", "message"),
    purpose=CallPurpose.SUBTASK,
    hook_names=HookNames(arguments={"message": "prompt", "mode": "subagent_type"}),
)
