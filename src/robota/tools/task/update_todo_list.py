"""Replace the plan of the task."""

from typing import Annotated

import msgspec

from robota.contracts.tool import Effect, Plan, Prepared, Tool, ToolContext, ToolGroup, ToolResult, Touches, titled
from robota.protocol.views import TodoView
from robota.tools.presentation import SayTool, description_beside, tool_ask


class UpdateTodoListParams(msgspec.Struct, frozen=True, kw_only=True):
    todos: Annotated[str, msgspec.Meta(description="The whole list, one item per line.")]


async def prepare(params: UpdateTodoListParams, context: ToolContext) -> Prepared:
    """The new list; the engine replaces the old one."""
    from robota.tools.task.checklist import as_rows, parse_checklist

    items = parse_checklist(params.todos)
    rows = as_rows(items)
    view = TodoView(items=rows)

    async def run() -> ToolResult:
        return ToolResult(content="Todo list updated successfully.", view=view, control=Plan(todos=items))

    return Prepared(preview=tool_ask(SayTool(tool="updateTodoList", todos=rows), view), run=run)


def touches(params: UpdateTodoListParams) -> Touches:
    """What the call touches, for policy."""
    return Touches()


TOOL = Tool(
    name="update_todo_list",
    label="update_todo_list",
    group=ToolGroup.TASK,
    params=UpdateTodoListParams,
    description=description_beside(__file__),
    effects=frozenset({Effect.TALK}),
    touches=touches,
    prepare=prepare,
    title=titled("Todo list"),
)
