"""Add, change, move and delete several files by one patch."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from robota.contracts.tool import Effect, Preview, Tool, ToolContext, ToolResult, Touches
from robota.protocol.views import DiffsView, View
from robota.text.visible import printable_name
from robota.tools.description import description_beside
from robota.tools.refusal import problems_told_to_model
from robota.tools.say_tool import DiffStats, SayTool, tool_ask
from robota.workspace.files.files import Files
from robota.workspace.text.syntax import syntax_note

if TYPE_CHECKING:
    from robota.tools.editing.patch_draft import FileDraft


class ApplyPatchParams(msgspec.Struct, frozen=True, kw_only=True):
    patch: Annotated[str, msgspec.Meta(description="The whole patch, from '*** Begin Patch' to '*** End Patch'.")]


async def run(params: ApplyPatchParams, context: ToolContext) -> ToolResult:
    # Worked out and written with parts that a task without an edit need not load.
    from robota.workspace.files.change_set import make_changes

    with problems_told_to_model():
        drafts = _drafts(params, context.files)
        make_changes(context.files, [change for draft in drafts for change in draft.changes])
    return ToolResult(content=_report(drafts), view=_view(drafts))


async def preview(params: ApplyPatchParams, context: ToolContext) -> Preview:
    with problems_told_to_model():
        drafts = _drafts(params, context.files)
    views = [draft.difference.view for draft in drafts]
    action = SayTool(
        tool="appliedDiff",
        path=", ".join(view.path for view in views),
        diff=_combined(drafts),
        diff_stats=DiffStats(added=sum(view.added for view in views), removed=sum(view.removed for view in views)),
    )
    return tool_ask(action, _view(drafts))


def touches(params: ApplyPatchParams) -> Touches:
    from robota.tools.editing.patch_format import BadPatch, paths_named, paths_of, read_patch

    try:
        operations = read_patch(params.patch)
    except BadPatch:  # it will not run, but a rule about a file that it names shall still hold
        return Touches(paths=paths_named(params.patch))
    return Touches(paths=tuple(path for operation in operations for path in paths_of(operation)))


def _drafts(params: ApplyPatchParams, files: Files) -> "tuple[FileDraft, ...]":
    from robota.tools.editing.patch_draft import draft_patch

    return draft_patch(files, params.patch)


def _report(drafts: "Sequence[FileDraft]") -> str:
    entries = [_entry(draft) for draft in drafts]
    notice = "The patch was applied."
    loose = [each for draft in drafts for each in draft.loose]
    if loose:
        notice += f" Not matched exactly, so look whether this is what you meant: {'; '.join(loose)}."
    return msgspec.json.encode({"files": entries, "notice": notice}).decode()


def _entry(draft: "FileDraft") -> dict[str, Any]:
    entry = {"path": printable_name(draft.path), "operation": draft.operation}
    if draft.moved_to is not None:
        entry["movedTo"] = printable_name(draft.moved_to)
    problems = syntax_note(draft.moved_to or draft.path, draft.before, draft.after) if draft.after is not None else ""
    return {**entry, "problems": problems} if problems else entry


def _combined(drafts: "Sequence[FileDraft]") -> str:
    """One difference is shown as it is; several each get a line with what happens to which file."""
    if len(drafts) == 1:
        return drafts[0].difference.unified
    return "".join(
        f"*** {draft.operation}: {draft.difference.view.path}\n{draft.difference.unified}" for draft in drafts
    )


def _view(drafts: "Sequence[FileDraft]") -> View:
    views = tuple(draft.difference.view for draft in drafts)
    return views[0] if len(views) == 1 else DiffsView(files=views)


TOOL = Tool(
    name="apply_patch",
    label="Patch",
    params=ApplyPatchParams,
    description=description_beside(__file__),
    effects=frozenset({Effect.WRITE}),
    run=run,
    touches=touches,
    preview=preview,
)
