"""Find files by name."""

from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from robota.contracts.tool import Effect, HookNames, Prepared, Tool, ToolContext, ToolGroup, ToolResult, Touches, titled
from robota.protocol.views import TextView
from robota.text.counted import counted
from robota.text.visible import printable_name
from robota.tools.presentation import SayTool, description_beside, tool_ask

if TYPE_CHECKING:
    from robota.workspace.search.names import FoundNames

MAX_PATHS: Final = 300
TIMEOUT_S: Final = 60.0


class GlobParams(msgspec.Struct, frozen=True, kw_only=True):
    pattern: Annotated[str, msgspec.Meta(description="The glob pattern, for example `**/*.py`.")]
    path: Annotated[
        str,
        msgspec.Meta(description="The directory to look in. Default: the workspace."),
    ] = "."


async def prepare(params: GlobParams, context: ToolContext) -> Prepared:
    """Describe the search; `run` performs it."""
    action = SayTool(
        tool="listFilesRecursive", path=printable_name(params.path), content=printable_name(params.pattern)
    )
    return Prepared(preview=tool_ask(action), run=lambda: _find(params, context))


def touches(params: GlobParams) -> Touches:
    """What the call touches, for policy."""
    return Touches(paths=(params.path,))


async def _find(params: GlobParams, context: ToolContext) -> ToolResult:
    # Imported with the first search.
    from robota.workspace.search.names import MAX_INSPECTED, find_names
    from robota.workspace.search.pattern import PathPattern

    files = context.files
    place = files.directory(params.path)
    pattern = PathPattern(params.pattern)
    found = await find_names(files.root, place, pattern, files.is_ignored, MAX_PATHS)
    lines = [printable_name(path) for path in found.paths]
    notes = _notes(found, MAX_INSPECTED)
    if not lines:
        lines = ["No files found. Hidden and ignored files are not searched."]
    return ToolResult(content="\n".join([*lines, *notes]), view=TextView(text=f"{counted(found.total, 'file')}."))


def _notes(found: "FoundNames", most: int) -> list[str]:
    notes = []
    if found.total > len(found.paths):
        notes.append(f"\n({len(found.paths)} of {found.total} files shown, the newest first. Use a narrower pattern.)")
    if found.gave_up:
        notes.append(f"\n(Stopped after {most:,} files. Use a deeper path.)")
    return notes


TOOL = Tool(
    name="glob",
    label="Glob",
    group=ToolGroup.READ,
    params=GlobParams,
    description=description_beside(__file__),
    effects=frozenset({Effect.READ}),
    touches=touches,
    prepare=prepare,
    hook_names=HookNames(path="path"),
    title=titled("Glob", "pattern"),
    timeout_s=TIMEOUT_S,
)
