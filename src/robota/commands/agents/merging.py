"""`/agent merge` and `robota agents merge`: brings the changes of an agent's worktree in, as one patch."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from robota.agents.worktrees.merging import MergedFile, merge_of
from robota.contracts.tool import AnyTool, ToolError
from robota.contracts.workspace import Files
from robota.log.kinds.agents import AgentWorktree
from robota.providers.chunks import EditFormat
from robota.text.visible import visible
from robota.tools.editing.patch_draft import draft_patch
from robota.workspace.problems import FileProblem

NOT_TEXT: Final = "it is no text that a patch can express"


class MergePatch(msgspec.Struct, frozen=True, kw_only=True):
    """A patch that makes exactly these files; `left_out` are those that nothing is done about."""

    text: str
    files: tuple[str, ...]
    left_out: tuple[str, ...]

    @property
    def remarks(self) -> str:
        """What is left to the user."""
        return "" if not self.left_out else "Not brought in: " + "; ".join(self.left_out) + "."


def patch_tool(tools: Iterable[AnyTool]) -> str:
    """The tool that applies patches."""
    return next(tool.name for tool in tools if tool.edit_format is EditFormat.PATCH)


async def patch_of(
    worktree: AgentWorktree, root: Path, files: Files, env: Mapping[str, str], wanted: Collection[str] = ()
) -> MergePatch:
    """The patch for what an agent changed, or for the `wanted` files of it. Raises `WorktreeError`."""
    merge = await merge_of(worktree, root, env)
    chosen = [each for each in merge.files if not wanted or each.path in wanted]
    sections: list[str] = []
    paths: list[str] = []
    left_out = list(merge.left_out)
    for each in chosen:
        section = _section(each, files)
        if section is None:
            left_out.append(f"{each.path}: {NOT_TEXT}")
        else:
            sections.append(section)
            paths.append(each.path)
    return MergePatch(text=_patch(sections) if sections else "", files=tuple(paths), left_out=tuple(left_out))


def shown_merge(patch: MergePatch) -> str:
    """The changed lines of a patch, for a question."""
    lines = (line for line in patch.text.splitlines() if not line.startswith((" ", "@@", "*** Begin", "*** End")))
    return "\n".join([*map(visible, lines), *filter(None, (patch.remarks,))])


def _section(merged: MergedFile, files: Files) -> str | None:
    """The part of the patch for one file, if it makes exactly the wanted bytes of it."""
    try:
        section = _written(merged)
        [draft] = draft_patch(files, _patch([section]))
    except (UnicodeDecodeError, ToolError, FileProblem):
        return None
    made = None if draft.after is None else bytes(draft.after)
    return section if made == merged.after else None


def _written(merged: MergedFile) -> str:
    if merged.after is None:
        return f"*** Delete File: {merged.path}\n"
    new = merged.after.decode()
    if merged.before is None:
        return "".join((f"*** Add File: {merged.path}\n", *(f"+{line}\n" for line in new.splitlines())))
    return f"*** Update File: {merged.path}\n{_hunks(merged.before.decode().splitlines(), new.splitlines())}"


def _hunks(old: Sequence[str], new: Sequence[str]) -> str:
    """One hunk over the whole file, so that there is one place for it."""
    from difflib import SequenceMatcher

    lines: list[str] = ["@@"]
    for kind, first, last, new_first, new_last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            lines += (f" {line}" for line in old[first:last])
            continue
        lines += (f"-{line}" for line in old[first:last])
        lines += (f"+{line}" for line in new[new_first:new_last])
    return "\n".join(lines) + "\n"


def _patch(sections: Sequence[str]) -> str:
    return "".join(("*** Begin Patch\n", *sections, "*** End Patch\n"))
