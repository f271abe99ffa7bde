"""Delegate work to a separate task."""

from typing import Annotated

import msgspec

from robota.contracts.tool import (
    Delegate,
    Effect,
    HookNames,
    Prepared,
    Tool,
    ToolContext,
    ToolGroup,
    ToolResult,
    Touches,
    titled,
)
from robota.protocol.calls import CallPurpose
from robota.tools.presentation import SayTool, description_beside, tool_ask


class NewTaskParams(msgspec.Struct, frozen=True, kw_only=True):
    mode: Annotated[str, msgspec.Meta(description="The mode of the subtask, for example `code`.")]
    message: Annotated[str, msgspec.Meta(description="Everything that the subtask must know.")]
    todos: Annotated[str | None, msgspec.Meta(description="Its todo list, as a checklist.")] = None


async def prepare(params: NewTaskParams, context: ToolContext) -> Prepared:
    """The work to delegate; the engine starts the task."""
    from robota.tools.task.checklist import as_rows, parse_checklist

    todos = parse_checklist(params.todos or "")
    action = SayTool(tool="newTask", mode=params.mode, content=params.message, todos=as_rows(todos))

    async def run() -> ToolResult:
        return ToolResult(content="", control=Delegate(mode=params.mode, message=params.message, todos=todos))

    return Prepared(preview=tool_ask(action), run=run)


def touches(params: NewTaskParams) -> Touches:
    """What the call touches, for policy."""
    return Touches()


TOOL = Tool(
    name="new_task",
    label="new_task",
    group=ToolGroup.TASK,
    params=NewTaskParams,
    description=description_beside(__file__),
    effects=frozenset({Effect.TALK}),
    touches=touches,
    prepare=prepare,
    hook_names=HookNames(arguments={"message": "prompt", "mode": "subagent_type"}),
    title=titled("Subtask", "message"),
    purpose=CallPurpose.SUBTASK,
)
