"""Hand a piece of work to a task of its own."""

from typing import Annotated

import msgspec

from robota.contracts.tool import Delegate, Effect, Preview, Tool, ToolContext, ToolResult, Touches
from robota.tools.description import description_beside
from robota.tools.say_tool import SayTool, tool_ask
from robota.tools.task.checklist import as_rows, parse_checklist


class NewTaskParams(msgspec.Struct, frozen=True, kw_only=True):
    mode: Annotated[str, msgspec.Meta(description="The mode the new task starts in, for example `code`.")]
    message: Annotated[str, msgspec.Meta(description="Everything the new task must know; it sees nothing else.")]
    todos: Annotated[str | None, msgspec.Meta(description="Its first todo list, as a Markdown checklist.")] = None


async def run(params: NewTaskParams, context: ToolContext) -> ToolResult:
    todos = parse_checklist(params.todos or "")
    return ToolResult(content="", control=Delegate(mode=params.mode, message=params.message, todos=todos))


async def preview(params: NewTaskParams, context: ToolContext) -> Preview:
    rows = as_rows(parse_checklist(params.todos or ""))
    return tool_ask(SayTool(tool="newTask", mode=params.mode, content=params.message, todos=rows))


def touches(params: NewTaskParams) -> Touches:
    return Touches()


TOOL = Tool(
    name="new_task",
    label="new_task",
    params=NewTaskParams,
    description=description_beside(__file__),
    effects=frozenset({Effect.TALK}),
    run=run,
    touches=touches,
    preview=preview,
)
