"""Change parts of a file by SEARCH/REPLACE blocks."""

from typing import TYPE_CHECKING, Annotated

import msgspec

from robota.contracts.tool import Effect, Preview, Tool, ToolContext, ToolResult, Touches
from robota.tools.description import description_beside
from robota.tools.refusal import problems_told_to_model
from robota.workspace.files.files import Files
from robota.workspace.text.syntax import syntax_note

if TYPE_CHECKING:
    from robota.tools.editing.change import Change


class ApplyDiffParams(msgspec.Struct, frozen=True, kw_only=True):
    path: Annotated[str, msgspec.Meta(description="The file, relative to the workspace. It must exist.")]
    diff: Annotated[str, msgspec.Meta(description="One or more SEARCH/REPLACE blocks.")]


async def run(params: ApplyDiffParams, context: ToolContext) -> ToolResult:
    from robota.tools.editing.change import carried_out

    with problems_told_to_model():
        change = _change(params, context.files)
        result = carried_out(change, context.files)
    note = syntax_note(params.path, change.over.data if change.over else None, change.data)
    return msgspec.structs.replace(result, content=f"{result.content}\n{note}" if note else result.content)


async def preview(params: ApplyDiffParams, context: ToolContext) -> Preview:
    from robota.tools.editing.change import asked_about

    with problems_told_to_model():
        return asked_about(_change(params, context.files), "appliedDiff")


def touches(params: ApplyDiffParams) -> Touches:
    return Touches(paths=(params.path,))


def _change(params: ApplyDiffParams, files: Files) -> "Change":
    # Comparing costs imports that a task without an edit need not pay for.
    from robota.tools.editing.diff_draft import changed_by_diff

    return changed_by_diff(files, params.path, params.diff)


TOOL = Tool(
    name="apply_diff",
    label="Diff",
    params=ApplyDiffParams,
    description=description_beside(__file__),
    effects=frozenset({Effect.WRITE}),
    run=run,
    touches=touches,
    preview=preview,
)
