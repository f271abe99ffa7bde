"""Write a whole file, new or existing."""

from typing import Annotated

import msgspec

from robota.contracts.tool import Effect, HookNames, Prepared, Tool, ToolContext, ToolGroup, Touches
from robota.tools.presentation import description_beside, titled
from robota.workspace.problems import Missing
from robota.workspace.text.source import TextSpan, read_source


class WriteToFileParams(msgspec.Struct, frozen=True, kw_only=True):
    path: Annotated[str, msgspec.Meta(description="The file, relative to the workspace. Missing directories are made.")]
    content: Annotated[str, msgspec.Meta(description="The complete content of the file, exactly as it shall be.")]


async def prepare(params: WriteToFileParams, context: ToolContext) -> Prepared:
    """The new file, or the difference between the file and what it shall be."""
    # Comparing costs an import that a task without a write need not pay for.
    from robota.tools.editing.change import changed_file, new_file, prepared_change

    try:
        source = read_source(context.files, params.path, must_be_read=True)
    except Missing:
        change = new_file(params.path, params.content)
    else:
        content = params.content.removeprefix("\ufeff") if source.form.mark else params.content
        change = changed_file(params.path, source, [TextSpan(start=0, end=len(source.text), new=content)])
    return prepared_change(change, context.files, "editedExistingFile")


def touches(params: WriteToFileParams) -> Touches:
    return Touches(paths=(params.path,))


TOOL = Tool(
    name="write_to_file",
    label="Write",
    group=ToolGroup.EDIT,
    params=WriteToFileParams,
    description=description_beside(__file__),
    effects=frozenset({Effect.WRITE}),
    touches=touches,
    prepare=prepare,
    editable="content",
    title=titled("Write", "path"),
    hook_names=HookNames(arguments={"path": "file_path"}, path="path"),
    aliases=("write_file",),
)
