"""Add, change, move and delete several files with one patch."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec

from robota.contracts.tool import (
    Effect,
    HookNames,
    Prepared,
    Tool,
    ToolContext,
    ToolGroup,
    ToolResult,
    Touches,
    one_line,
)
from robota.protocol.views import DiffsView, View
from robota.providers.chunks import EditFormat
from robota.text.visible import printable_name
from robota.tools.presentation import CLAUDE_CODE_EDITS, DiffStats, SayTool, description_beside, tool_ask

if TYPE_CHECKING:
    from robota.tools.editing.patch_draft import FileDraft


DONE: Final = {"created": "Created", "modified": "Changed", "moved": "Moved", "deleted": "Deleted"}
NAMED_FILES: Final = r"(?m)^\*\*\* (?:Add|Update|Delete) File: (.+)$"


class ApplyPatchParams(msgspec.Struct, frozen=True, kw_only=True):
    patch: Annotated[str, msgspec.Meta(description="The whole patch, from '*** Begin Patch' to '*** End Patch'.")]


async def prepare(params: ApplyPatchParams, context: ToolContext) -> Prepared:
    """The outcome for each file."""
    # Imported here because a task without edits does not need it.
    from robota.tools.editing.change import unseen_part
    from robota.tools.editing.patch_draft import draft_patch, hunk_choice

    drafts = draft_patch(context.files, params.patch)
    views = tuple(draft.difference.view for draft in drafts)
    action = SayTool(
        tool="appliedDiff",
        path=", ".join(view.path for view in views),
        diff=_combined(drafts),
        diff_stats=DiffStats(added=sum(view.added for view in views), removed=sum(view.removed for view in views)),
    )
    view = views[0] if len(views) == 1 else DiffsView(files=views)
    with_hunks = hunk_choice(drafts[0], context) if len(drafts) == 1 else None
    unseen = unseen_part(sum(draft.difference.unseen for draft in drafts), params.patch.encode)
    return Prepared(
        preview=tool_ask(action, view, unseen), run=lambda: _apply(drafts, view, context), with_hunks=with_hunks
    )


def touches(params: ApplyPatchParams) -> Touches:
    """What the call touches, for policy."""
    from robota.tools.editing.patch_format import BadPatch, paths_named, paths_of, read_patch

    try:
        operations = read_patch(params.patch)
    except BadPatch:  # it will not run, but rules about the files it names still apply
        return Touches(paths=paths_named(params.patch))
    return Touches(paths=tuple(path for operation in operations for path in paths_of(operation)))


async def _apply(drafts: "Sequence[FileDraft]", view: View, context: ToolContext) -> ToolResult:
    from robota.tools.editing.change import broken_code, written_off_the_loop
    from robota.workspace.files.change_set import make_changes

    size = sum(len(draft.after or b"") for draft in drafts)
    changes = [change for draft in drafts for change in draft.changes]
    await written_off_the_loop(lambda: make_changes(context.files, changes), size)
    # The syntax check of the new texts runs in another process and may be slow.
    report = await asyncio.to_thread(_report, drafts)
    notes = [
        await broken_code(context, draft.moved_to or draft.path, draft.before, draft.after)
        for draft in drafts
        if draft.after is not None
    ]
    return ToolResult(content="\n".join((report, *filter(None, notes))), view=view)


def _title(arguments: Mapping[str, Any]) -> str:
    return f"Patch {one_line(', '.join(re.findall(NAMED_FILES, str(arguments.get('patch')))))}".rstrip()


def _report(drafts: "Sequence[FileDraft]") -> str:
    loose = [each for draft in drafts for each in draft.loose]
    remarks = [f"Not matched exactly, so check that this is what you meant: {'; '.join(loose)}."] if loose else []
    remarks += [draft.remark for draft in drafts if draft.remark]
    return "\n".join(["The patch was applied.", *remarks, *(_outcome(draft) for draft in drafts)])


def _outcome(draft: "FileDraft") -> str:
    """What happened to one file: a sentence, its changed lines, and problems with its syntax."""
    from robota.tools.editing.changed_lines import changed_lines, size_of_change
    from robota.workspace.text.syntax import syntax_note

    name, view, path = printable_name(draft.path), draft.difference.view, draft.moved_to or draft.path
    if draft.moved_to is not None:
        name = f"{name} to {printable_name(draft.moved_to)}"
    done = f"{DONE[draft.operation]} {name} ({size_of_change(view)})."
    lines = changed_lines(view, path) if draft.operation in ("modified", "moved") else ""
    problems = syntax_note(path, draft.before, draft.after) if draft.after is not None else ""
    return "\n".join(part for part in (done, lines, problems) if part)


def _combined(drafts: "Sequence[FileDraft]") -> str:
    """A single diff is shown unchanged; several diffs each get a line with the operation and the file."""
    if len(drafts) == 1:
        return drafts[0].difference.unified
    return "".join(
        f"*** {draft.operation}: {draft.difference.view.path}\n{draft.difference.unified}" for draft in drafts
    )


TOOL = Tool(
    name="apply_patch",
    label="Patch",
    group=ToolGroup.EDIT,
    params=ApplyPatchParams,
    description=description_beside(__file__),
    effects=frozenset({Effect.WRITE}),
    touches=touches,
    prepare=prepare,
    edit_format=EditFormat.PATCH,
    editable="patch",
    title=_title,
    hook_names=HookNames(also_matched_as=(*CLAUDE_CODE_EDITS, "Write")),  # it also creates files
)
