"""Write a whole file, new or existing."""

from typing import TYPE_CHECKING, Annotated

import msgspec

from robota.contracts.tool import Effect, HookNames, Prepared, Tool, ToolContext, ToolGroup, Touches, titled
from robota.contracts.workspace import Files
from robota.tools.presentation import description_beside
from robota.workspace.problems import Missing, NotADirectory

if TYPE_CHECKING:
    from robota.tools.editing.change import FileChange


class WriteToFileParams(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    content: Annotated[str, msgspec.Meta(description="The complete content of the file.")]


async def prepare(params: WriteToFileParams, context: ToolContext) -> Prepared:
    """The new file, or the diff between the existing file and its new content."""
    # Imported here because a task without writes does not need it.
    from robota.tools.editing.change import off_the_loop, prepared_change

    change = await off_the_loop(lambda: _change(params, context.files), len(params.content))
    return prepared_change(change, context, "editedExistingFile")


def _change(params: WriteToFileParams, files: Files) -> "FileChange":
    from robota.tools.editing.change import changed_file, checked_new_text, new_file
    from robota.workspace.text.source import TextSpan, read_source

    try:
        source = read_source(files, params.path, must_be_read=True)
    except Missing:
        return new_file(params.path, params.content)
    except NotADirectory as error:
        from robota.tools.files.near_names import with_near_names

        raise with_near_names(error, params.path, files) from error
    content = params.content.removeprefix("\ufeff") if source.form.mark else params.content
    spans = [TextSpan(start=0, end=len(source.text), new=content)]
    return changed_file(params.path, source, spans, checked_new_text(source, spans))


def touches(params: WriteToFileParams) -> Touches:
    """What the call touches, for policy."""
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
