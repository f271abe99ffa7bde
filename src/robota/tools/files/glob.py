"""Find files by name."""

import re
from contextlib import suppress
from itertools import takewhile
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from robota.contracts.tool import (
    Effect,
    HookNames,
    Prepared,
    Tool,
    ToolContext,
    ToolError,
    ToolGroup,
    ToolResult,
    Touches,
    titled,
)
from robota.contracts.workspace import Files
from robota.protocol.views import TextView
from robota.text.counted import counted
from robota.text.visible import printable_name
from robota.tools.presentation import SayTool, description_beside, tool_ask
from robota.workspace.problems import FileProblem

if TYPE_CHECKING:
    from robota.workspace.search.names import FoundNames

MAX_PATHS: Final = 300
TIMEOUT_S: Final = 60.0
WILDCARD: Final = re.compile(r"[*?\[{]")


class GlobParams(msgspec.Struct, frozen=True, kw_only=True):
    pattern: Annotated[str, msgspec.Meta(description="For example `**/*.py`.")]
    path: Annotated[
        str,
        msgspec.Meta(description="The directory. Default: the workspace."),
    ] = "."
    offset: Annotated[Annotated[int, msgspec.Meta(ge=0)], msgspec.Meta(description="Files to skip.")] = 0


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
    from robota.tools.files.near_names import directory_for_model
    from robota.workspace.search.names import MAX_INSPECTED, find_names
    from robota.workspace.search.pattern import PathPattern

    if params.pattern.startswith("/"):
        raise ToolError(_relative(params, context))
    files, name = context.files.holding(params.path), printable_name(params.path)
    searched = directory_for_model(params.path, files)
    names = await find_names(
        files.root, searched, PathPattern(params.pattern), files.is_ignored, params.offset + MAX_PATHS
    )
    outside = "" if files is context.files else f"{files.root}/"
    lines = [printable_name(f"{outside}{path}") for path in names.paths[params.offset :]]
    notes = _notes(names, params, MAX_INSPECTED)
    if not names.paths:
        lines = [_no_files(name, params, files)]
    elif not lines:
        lines = [f"There are only {counted(len(names.paths), 'file')}; offset {params.offset} skips all of them."]
    return ToolResult(content="\n".join([*lines, *notes]), view=TextView(text=f"{counted(names.total, 'file')}."))


def _relative(params: GlobParams, context: ToolContext) -> str:
    """The same search with the directory as `path`, which is what policy judges."""
    from robota.contracts.rest_of_result import named_call

    root, *parts = PurePosixPath(params.pattern).parts
    plain = list(takewhile(lambda part: not WILDCARD.search(part), parts[:-1]))
    directory = PurePosixPath(root, *plain)
    here = directory.relative_to(context.cwd) if directory.is_relative_to(context.cwd) else directory
    call = named_call("glob", pattern="/".join(parts[len(plain) :]) or "*", path=str(here))
    return f"A pattern cannot begin with '/'. Nothing was searched. Give the directory as path: {call}"


def _no_files(name: str, params: GlobParams, files: Files) -> str:
    text = f"No files in {name!r} match {params.pattern!r}."
    with suppress(FileProblem):
        files.directory(f"{params.path}/{params.pattern}")
        return f"{text} It is a directory: list it with list_files."
    wider = "" if params.path == "." else ", or a directory above"
    return f"{text} Hidden and ignored files are not searched. Try another pattern{wider}."


def _notes(listing: "FoundNames", params: GlobParams, most: int) -> list[str]:
    notes = []
    if params.offset < len(listing.paths) and (params.offset or listing.total > len(listing.paths)):
        # Whether the later ones are hidden from the model is found out when they are shown.
        total = f"at most {listing.total:,}" if listing.total > len(listing.paths) else f"{listing.total:,}"
        notes.append(f"\n[Showing files {params.offset + 1:,}-{len(listing.paths):,} of {total}, the newest first.]")
    if listing.total > len(listing.paths):
        from robota.contracts.rest_of_result import next_page

        notes.append(f"[For the next files: {next_page('glob', params, len(listing.paths))}]")
    if listing.gave_up:
        notes.append(f"\n[Stopped after {most:,} files. Use a deeper path.]")
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
