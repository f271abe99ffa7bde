"""Write a whole file, new or existing."""

from typing import TYPE_CHECKING, Annotated

import msgspec

from robota.contracts.tool import Effect, Preview, Tool, ToolContext, ToolResult, Touches
from robota.tools.description import description_beside
from robota.tools.refusal import problems_told_to_model
from robota.workspace.files.files import Files
from robota.workspace.problems import Missing
from robota.workspace.text.source import Span, read_source

if TYPE_CHECKING:
    from robota.tools.editing.change import Change


class WriteToFileParams(msgspec.Struct, frozen=True, kw_only=True):
    path: Annotated[str, msgspec.Meta(description="The file, relative to the workspace. Missing directories are made.")]
    content: Annotated[str, msgspec.Meta(description="The complete content of the file, exactly as it shall be.")]


async def run(params: WriteToFileParams, context: ToolContext) -> ToolResult:
    from robota.tools.editing.change import carried_out_and_checked

    with problems_told_to_model():
        return carried_out_and_checked(_change(params, context.files), context.files)


async def preview(params: WriteToFileParams, context: ToolContext) -> Preview:
    from robota.tools.editing.change import asked_about

    with problems_told_to_model():
        return asked_about(_change(params, context.files), "editedExistingFile")


def touches(params: WriteToFileParams) -> Touches:
    return Touches(paths=(params.path,))


def _change(params: WriteToFileParams, files: Files) -> "Change":
    # Comparing costs an import that a task without a write need not pay for.
    from robota.tools.editing.change import changed_file, new_file

    try:
        source = read_source(files, params.path, must_be_read=True)
    except Missing:
        return new_file(params.path, params.content)
    content = params.content.removeprefix("\ufeff") if source.form.mark else params.content
    return changed_file(params.path, source, [Span(start=0, end=len(source.text), new=content)])


TOOL = Tool(
    name="write_to_file",
    label="Write",
    params=WriteToFileParams,
    description=description_beside(__file__),
    effects=frozenset({Effect.WRITE}),
    run=run,
    touches=touches,
    preview=preview,
    aliases=("write_file",),
)
