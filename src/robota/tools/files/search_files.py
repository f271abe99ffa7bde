"""Search the content of files with a regular expression."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from robota.contracts.tool import Effect, HookNames, Prepared, Tool, ToolContext, ToolGroup, ToolResult, Touches, titled
from robota.contracts.workspace import Files
from robota.protocol.views import TextView
from robota.text.visible import printable_name
from robota.tools.presentation import SayTool, description_beside, tool_ask

if TYPE_CHECKING:
    from robota.workspace.search.content import ContentSearchResult, FoundFile

MAX_RESULTS: Final = 300
MAX_CONTEXT: Final = 20
MAX_CHARACTERS: Final = 60_000
MAX_REGEX_CHARACTERS: Final = 10_000
TIMEOUT_S: Final = 60.0
SHOWN_UNREADABLE: Final = 3


class SearchFilesParams(msgspec.Struct, frozen=True, kw_only=True):
    path: Annotated[
        str, msgspec.Meta(description="A directory or a file, relative to the workspace; `.` is the workspace.")
    ]
    regex: Annotated[
        str,
        msgspec.Meta(
            description="The regular expression, in Rust syntax.", min_length=1, max_length=MAX_REGEX_CHARACTERS
        ),
    ]
    file_pattern: Annotated[
        str | None, msgspec.Meta(description="Only files that this glob names, for example `*.ts`.")
    ] = None
    file_type: Annotated[
        Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_+-]+$")] | None,
        msgspec.Meta(description="Only files of this type, for example `py`."),
    ] = None
    context: Annotated[
        Annotated[int, msgspec.Meta(ge=0, le=MAX_CONTEXT)],
        msgspec.Meta(description="How many lines to show before and after a match. Default 1."),
    ] = 1
    include_hidden: Annotated[bool, msgspec.Meta(description="Whether to search hidden files. Default false.")] = False
    max_results: Annotated[
        Annotated[int, msgspec.Meta(ge=1, le=MAX_RESULTS)],
        msgspec.Meta(description=f"How many matches to return at most. Default {MAX_RESULTS}."),
    ] = MAX_RESULTS


async def prepare(params: SearchFilesParams, context: ToolContext) -> Prepared:
    """Describe what will be searched for, and where; `run` performs the search."""
    filters = ", ".join(filter(None, (params.file_pattern, params.file_type)))
    action = SayTool(tool="searchFiles", path=printable_name(params.path), content=params.regex, reason=filters or None)
    return Prepared(preview=tool_ask(action), run=lambda: _search(params, context))


def touches(params: SearchFilesParams) -> Touches:
    """What the call touches, for policy."""
    return Touches(paths=(params.path,))


async def _search(params: SearchFilesParams, context: ToolContext) -> ToolResult:
    # Imported with the first search.
    from robota.workspace.search.content import Query, search
    from robota.workspace.search.pattern import PathPattern

    files = context.files
    query = Query(
        place=files.resolve(params.path),
        regex=params.regex,
        pattern=PathPattern(params.file_pattern) if params.file_pattern else None,
        file_type=params.file_type,
        context=params.context,
        hidden=params.include_hidden,
        limit=params.max_results,
    )
    found = await search(files.root, query, _left_out(files, query.place))
    summary = _summary(found, params)
    shown, left_out = _within_budget([_rendered(file) for file in found.files])
    notes = _notes(found, left_out)
    return ToolResult(content="\n\n".join([summary, *notes, *shown]), view=TextView(text=summary))


def _left_out(files: Files, place: Path) -> Callable[[str], bool]:
    """What the search skips: files hidden from the model, and secrets unless the searched path is one."""
    if files.is_secret(str(place.relative_to(files.root))):
        return files.is_ignored
    return lambda path: files.is_ignored(path) or files.is_secret(path)


def _summary(found: "ContentSearchResult", params: SearchFilesParams) -> str:
    if found.is_cut:
        count = found.matches
        return f"Showing the first {count} of {count}+ results. Use a narrower regex or path to see the others."
    if found.matches:
        files = len(found.files)
        return f"Found {found.matches} {_plural('result', found.matches)} in {files} {_plural('file', files)}."
    if found.overlong:
        return "Found only lines that are too long to show."
    if found.searched:
        return f"No results found in {found.searched} searched {_plural('file', found.searched)}."
    narrowed = "file_pattern or file_type" if params.file_pattern or params.file_type else "path"
    return (
        f"No results found, because no file was searched. Check {narrowed}; hidden and ignored files do not count, "
        "nor do those whose names say that they hold secrets."
    )


def _notes(found: "ContentSearchResult", left_out: int) -> list[str]:
    notes = []
    if left_out:
        notes.append(f"The list is too long: {left_out} more files with results are not shown. Narrow the search.")
    if found.overlong:
        names = ", ".join(repr(printable_name(path)) for path in found.overlong[:SHOWN_UNREADABLE])
        more = ", …" if len(found.overlong) > SHOWN_UNREADABLE else ""
        notes.append(
            f"Matching lines longer than a megabyte are not shown: they are in {names}{more}. "
            "Use a command such as grep -o to see a part of them."
        )
    if found.unreadable:
        names = "; ".join(printable_name(text) for text in found.unreadable[:SHOWN_UNREADABLE])
        more = "; …" if len(found.unreadable) > SHOWN_UNREADABLE else ""
        notes.append(f"Not everything could be read: {names}{more}")
    return notes


def _rendered(file: "FoundFile") -> str:
    """Group neighbouring lines, with a separator between groups."""
    width = len(str(file.lines[-1].number))
    rows = [f"# {printable_name(file.path)}"]
    last = file.lines[0].number - 1
    for line in file.lines:
        if line.number > last + 1:
            rows.append("----")
        rows.append(f"{line.number:>{width}} | {line.text}")
        last = line.number
    return "\n".join([*rows, "----"])


def _within_budget(blocks: list[str]) -> tuple[list[str], int]:
    """As many whole files as fit, at least one, and the number of omitted files."""
    room = MAX_CHARACTERS
    for count, block in enumerate(blocks):
        room -= len(block)
        if room < 0:
            kept = max(count, 1)
            return blocks[:kept], len(blocks) - kept
    return blocks, 0


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


TOOL = Tool(
    name="search_files",
    label="Grep",
    group=ToolGroup.READ,
    params=SearchFilesParams,
    description=description_beside(__file__),
    effects=frozenset({Effect.READ}),
    touches=touches,
    prepare=prepare,
    hook_names=HookNames(
        arguments={"regex": "pattern", "file_pattern": "glob", "file_type": "type", "max_results": "head_limit"},
        path="path",
    ),
    title=titled("Grep", "regex", "path"),
    timeout_s=TIMEOUT_S,
)
