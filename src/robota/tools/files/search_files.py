"""Search the content of files with a regular expression."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from robota.contracts.tool import (
    SHOWN_CHARACTERS,
    Effect,
    HookNames,
    Prepared,
    Tool,
    ToolContext,
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
from robota.workspace.problems import Missing

if TYPE_CHECKING:
    from robota.workspace.search.content import ContentSearchResult, FoundFile

MAX_RESULTS: Final = 300
MAX_CONTEXT: Final = 20
MAX_CHARACTERS: Final = SHOWN_CHARACTERS
MAX_REGEX_CHARACTERS: Final = 10_000
TIMEOUT_S: Final = 60.0
SHOWN_UNREADABLE: Final = 3
ROOM_FOR_NUMBER: Final = 12
ROOM_FOR_HEADING: Final = 12


class SearchFilesParams(msgspec.Struct, frozen=True, kw_only=True):
    regex: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_REGEX_CHARACTERS)]
    path: Annotated[str, msgspec.Meta(description="A file or directory. Default: the workspace.")] = "."
    file_pattern: Annotated[str | None, msgspec.Meta(description="Only files that match this glob: `*.ts`.")] = None
    file_type: Annotated[
        Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_+-]+$")] | None,
        msgspec.Meta(description="Only files of this type: `py`."),
    ] = None
    context: Annotated[
        Annotated[int, msgspec.Meta(ge=0, le=MAX_CONTEXT)],
        msgspec.Meta(description="Lines to show around a match. Default 1."),
    ] = 1
    include_hidden: bool = False
    max_results: Annotated[
        Annotated[int, msgspec.Meta(ge=1, le=MAX_RESULTS)],
        msgspec.Meta(description=f"Matches to return at most. Default {MAX_RESULTS}."),
    ] = MAX_RESULTS
    offset: Annotated[Annotated[int, msgspec.Meta(ge=0)], msgspec.Meta(description="Matches to skip.")] = 0


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
    from robota.contracts.rest_of_result import next_page
    from robota.workspace.search.content import Query, search
    from robota.workspace.search.pattern import PathPattern

    files = context.files.holding(params.path)
    query = Query(
        path=files.resolve(params.path),
        regex=params.regex,
        pattern=PathPattern(params.file_pattern) if params.file_pattern else None,
        file_type=params.file_type,
        context=params.context,
        hidden=params.include_hidden,
        limit=params.offset + params.max_results,
    )
    try:
        result = await search(files.root, query, _left_out(files, query.path))
    except Missing as error:
        from robota.tools.files.near_names import with_near_names

        raise with_near_names(error, params.path, files) from error
    page = _page(result, params)
    summary = _summary(result, page, params)
    following = [f"[For the next matches: {next_page('search_files', params, page.last)}]"] if page.has_more else []
    outside = "" if files is context.files else f"{files.root}/"
    parts = [summary, *_notes(result), *(_rendered(file, outside) for file in page.files)]
    parts += [*_how_to_see_whole_lines(page, outside), *following]
    return ToolResult(content="\n\n".join(parts), view=TextView(text=summary))


def _left_out(files: Files, directory: Path) -> Callable[[str], bool]:
    """What the search skips: files hidden from the model, and secrets unless the searched path is one."""
    if files.is_secret(str(directory.relative_to(files.root))):
        return files.is_ignored
    return lambda path: files.is_ignored(path) or files.is_secret(path)


class MatchPage(msgspec.Struct, frozen=True, kw_only=True):
    """The matches that a result shows, with their context lines. `first` and `last` count all matches from 1."""

    files: list["FoundFile"]
    first: int
    last: int
    has_more: bool


def _page(result: "ContentSearchResult", params: SearchFilesParams) -> MatchPage:
    """The matches after `offset`, as many as fit and at least one. Counted after cutting, so that the count is true."""
    matches = [(file, line) for file in result.files for line in file.lines if line.is_match]
    lines_by_path: dict[str, set[int]] = {}
    room, last = MAX_CHARACTERS, params.offset
    for file, match in matches[params.offset : params.offset + params.max_results]:
        numbers = lines_by_path.get(file.path, set())
        # Neighbouring matches are shown where they are counted, on this page or another.
        near = [
            line
            for line in file.lines
            if line is match or (not line.is_match and abs(line.number - match.number) <= params.context)
        ]
        added = [line for line in near if line.number not in numbers]
        heading = 0 if numbers else len(file.path) + ROOM_FOR_HEADING
        room -= sum(len(line.text) + ROOM_FOR_NUMBER for line in added) + heading
        if room < 0 and lines_by_path:
            break
        lines_by_path[file.path] = numbers | {line.number for line in added}
        last += 1
    shown = [
        msgspec.structs.replace(file, lines=[line for line in file.lines if line.number in lines_by_path[file.path]])
        for file in result.files
        if file.path in lines_by_path
    ]
    has_more = last < len(matches) or result.is_cut
    return MatchPage(files=shown, first=params.offset + 1, last=last, has_more=has_more)


def _summary(result: "ContentSearchResult", page: MatchPage, params: SearchFilesParams) -> str:
    if params.offset and page.last == params.offset:
        return (
            f"There are only {counted(result.matches, 'match', 'matches')}; offset {params.offset} skips all of them."
        )
    if result.is_cut or page.first > 1 or page.has_more:
        total = f"more than {result.matches}" if result.is_cut else str(result.matches)
        return f"Showing matches {page.first}-{page.last} of {total}."
    if result.matches:
        return f"Found {counted(result.matches, 'match', 'matches')} in {counted(len(result.files), 'file')}."
    if result.overlong:
        return "Found only lines that are too long to show."
    if result.searched:
        return f"No matches in {counted(result.searched, 'file')}. Try a shorter regex, (?i), or another path."
    narrowed = "file_pattern or file_type" if params.file_pattern or params.file_type else "path"
    return f"No file was searched: hidden, ignored and secret files are skipped. Check {narrowed}."


def _how_to_see_whole_lines(page: MatchPage, outside: str) -> list[str]:
    """The call that shows the first line that is cut, as an example."""
    cut = next(((file, line) for file in page.files for line in file.lines if line.is_cut), None)
    if cut is None:
        return []
    from robota.contracts.rest_of_result import named_call

    call = named_call("read_file", path=printable_name(f"{outside}{cut[0].path}"), offset=cut[1].number, limit=1)
    return [f"[Long lines are cut at [truncated...]. For a whole one: {call}]"]


def _notes(result: "ContentSearchResult") -> list[str]:
    notes = []
    if result.overlong:
        names = ", ".join(repr(printable_name(path)) for path in result.overlong[:SHOWN_UNREADABLE])
        more = ", …" if len(result.overlong) > SHOWN_UNREADABLE else ""
        notes.append(
            f"Lines that are too long or match too often are not shown: they are in {names}{more}. "
            "Use a command such as grep -o to see a part of them."
        )
    if result.unreadable:
        names = "; ".join(printable_name(text) for text in result.unreadable[:SHOWN_UNREADABLE])
        more = "; …" if len(result.unreadable) > SHOWN_UNREADABLE else ""
        notes.append(f"Not everything could be read: {names}{more}")
    return notes


def _rendered(file: "FoundFile", outside: str) -> str:
    """Group neighbouring lines, with a separator between groups."""
    width = len(str(file.lines[-1].number))
    rows = [f"# {printable_name(outside + file.path)}"]
    last = file.lines[0].number - 1
    for line in file.lines:
        if line.number > last + 1:
            rows.append("----")
        rows.append(f"{line.number:>{width}} | {line.text}")
        last = line.number
    return "\n".join([*rows, "----"])


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
