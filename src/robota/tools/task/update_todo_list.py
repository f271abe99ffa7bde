"""Replace the plan of the task."""

from typing import Annotated

import msgspec

from robota.contracts.tool import Effect, Plan, Preview, Tool, ToolContext, ToolResult, Touches
from robota.protocol.views import TodoView
from robota.tools.description import description_beside
from robota.tools.say_tool import SayTool, tool_ask
from robota.tools.task.checklist import as_rows, parse_checklist


class UpdateTodoListParams(msgspec.Struct, frozen=True, kw_only=True):
    todos: Annotated[str, msgspec.Meta(description="The whole list as a Markdown checklist, one item a line.")]


async def run(params: UpdateTodoListParams, context: ToolContext) -> ToolResult:
    items = parse_checklist(params.todos)
    return ToolResult(
        content="Todo list updated successfully.", view=TodoView(items=as_rows(items)), control=Plan(todos=items)
    )


async def preview(params: UpdateTodoListParams, context: ToolContext) -> Preview:
    rows = as_rows(parse_checklist(params.todos))
    return tool_ask(SayTool(tool="updateTodoList", todos=rows), TodoView(items=rows))


def touches(params: UpdateTodoListParams) -> Touches:
    return Touches()


TOOL = Tool(
    name="update_todo_list",
    label="update_todo_list",
    params=UpdateTodoListParams,
    description=description_beside(__file__),
    effects=frozenset({Effect.TALK}),
    run=run,
    touches=touches,
    preview=preview,
)
