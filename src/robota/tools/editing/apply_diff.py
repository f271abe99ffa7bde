"""Change parts of a file by SEARCH/REPLACE blocks."""

from typing import Annotated

import msgspec

from robota.contracts.tool import Effect, HookNames, Prepared, Tool, ToolContext, ToolGroup, Touches, titled
from robota.providers.chunks import EditFormat
from robota.tools.presentation import CLAUDE_CODE_EDITS, description_beside


class ApplyDiffParams(msgspec.Struct, frozen=True, kw_only=True):
    path: Annotated[str, msgspec.Meta(description="The file, relative to the workspace. It must exist.")]
    diff: Annotated[str, msgspec.Meta(description="One or more SEARCH/REPLACE blocks.")]


async def prepare(params: ApplyDiffParams, context: ToolContext) -> Prepared:
    """The file with all blocks applied."""
    # Imported here because a task without edits does not need it.
    from robota.tools.editing.change import prepared_change
    from robota.tools.editing.diff_draft import changed_by_diff

    change = changed_by_diff(context.files, params.path, params.diff)
    return prepared_change(change, context, "appliedDiff")


def touches(params: ApplyDiffParams) -> Touches:
    """What the call touches, for policy."""
    return Touches(paths=(params.path,))


TOOL = Tool(
    name="apply_diff",
    label="Diff",
    group=ToolGroup.EDIT,
    params=ApplyDiffParams,
    description=description_beside(__file__),
    effects=frozenset({Effect.WRITE}),
    touches=touches,
    prepare=prepare,
    edit_format=EditFormat.DIFF,
    editable="diff",
    title=titled("Diff", "path"),
    hook_names=HookNames(arguments={"path": "file_path"}, path="path", also_matched_as=CLAUDE_CODE_EDITS),
)
