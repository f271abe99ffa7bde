"""Page through or search the stored output of a command."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from robota.contracts.tool import (
    MAX_RESULT_CHARACTERS,
    SHOWN_CHARACTERS,
    Effect,
    Prepared,
    Tool,
    ToolContext,
    ToolError,
    ToolGroup,
    ToolResult,
    ToolRole,
    Touches,
    titled,
)
from robota.protocol.views import TextView
from robota.text.counted import counted
from robota.text.visible import printable_name
from robota.tools.command.report import MAX_CHARACTERS
from robota.tools.presentation import SayTool, description_beside, tool_ask

if TYPE_CHECKING:
    from robota.workspace.output.page import Page
    from robota.workspace.output.search import OutputMatch, OutputSearchResult

DEFAULT_BYTES = 40 * 1024
MAX_BYTES = 80 * 1024
ROOM_FOR_NOTES = 1_000
MAX_PATTERN = 1000

Position = Annotated[int, msgspec.Meta(ge=0)]
Size = Annotated[int, msgspec.Meta(ge=1, le=MAX_BYTES)]
Pattern = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_PATTERN)]


class ReadCommandOutputParams(msgspec.Struct, frozen=True, kw_only=True):
    artifact_id: Annotated[str, msgspec.Meta(description="Its name, or a background process.")]
    search: Annotated[
        Pattern | None,
        msgspec.Meta(description="Return only lines that match this regex, in any case."),
    ] = None
    offset: Annotated[
        Position | None,
        msgspec.Meta(description="The byte to begin at."),
    ] = None
    limit: Annotated[Size | None, msgspec.Meta(description=f"Bytes to return at most. Default {DEFAULT_BYTES}.")] = None


async def prepare(params: ReadCommandOutputParams, context: ToolContext) -> Prepared:
    """Describe the part of the output that will be shown; `run` reads it."""
    what = f"search {printable_name(params.search)}" if params.search else f"from byte {params.offset or 0:,}"
    preview = tool_ask(SayTool(tool="readCommandOutput", path=printable_name(params.artifact_id), reason=what))
    return Prepared(preview=preview, run=lambda: _read(params, context))


def touches(params: ReadCommandOutputParams) -> Touches:
    """Nothing in the workspace: stored outputs are next to the log."""
    return Touches()


async def _read(params: ReadCommandOutputParams, context: ToolContext) -> ToolResult:
    # Imported when the first output is read.
    from robota.workspace.output.page import read_page

    path, most = _file(params.artifact_id, context), params.limit or DEFAULT_BYTES
    room = (SHOWN_CHARACTERS if params.limit is None else MAX_RESULT_CHARACTERS) - ROOM_FOR_NOTES
    try:
        if params.search is not None:
            return await _search(path, params, params.search)
        page = await asyncio.to_thread(read_page, path, params.offset or 0, most)
        # Short lines are longer with their numbers.
        while len(_numbered(page)) > room and most > 1:
            most //= 2
            page = await asyncio.to_thread(read_page, path, params.offset or 0, most)
    except OSError as error:
        message = f"The output {params.artifact_id} cannot be read: {error.strerror}. Run the command again."
        raise ToolError(message) from error
    if page.start == page.total_bytes and params.offset:
        message = f"The output has {page.total_bytes:,} bytes; there is nothing at {params.offset:,}."
        raise ToolError(f"{message} Use a smaller offset.")
    return _page(params, page)


def _file(name: str, context: ToolContext) -> Path:
    process = context.processes.find_background(name)
    if process is None:
        return context.kept(name)
    if process.kept_as is not None:
        return context.kept(process.kept_as)
    path = process.output_file()
    if path is None:
        message = f"The output of {name} is not on disk: there was no room for it."
        raise ToolError(f"{message} Read what it prints from now on.")
    return path


def _page(params: ReadCommandOutputParams, page: "Page") -> ToolResult:
    if not page.total_bytes:
        return _result(f"The output {params.artifact_id} is empty.", "Empty")
    is_all = page.start == 0 and page.end == page.total_bytes
    lines = [f"Output {params.artifact_id}: {_extent(page, is_all=is_all)}"]
    if page.begins_inside:
        lines.append("The first line is the rest of a line.")
    lines.append(_numbered(page))
    if page.end < page.total_bytes:
        from robota.contracts.rest_of_result import next_page

        lines.append(f"[To read on: {next_page('read_command_output', params, page.end)}]")
    return _result("\n".join(lines), f"Bytes {page.start:,}-{page.end:,} of {page.total_bytes:,}")


def _extent(page: "Page", *, is_all: bool) -> str:
    if is_all:
        return f"all of its {page.total_bytes:,} bytes."
    return f"bytes {page.start:,}-{page.end:,} of {page.total_bytes:,}."


def _numbered(page: "Page") -> str:
    from robota.workspace.output.capture import plain_terminal_text

    lines = plain_terminal_text(page.text).split("\n")
    if lines[-1] == "":
        lines.pop()
    width = len(str(page.first_line + len(lines)))
    return "\n".join(f"{number:>{width}} | {line}" for number, line in enumerate(lines, page.first_line))


async def _search(path: Path, params: ReadCommandOutputParams, pattern: str) -> ToolResult:
    from robota.workspace.output.search import OutputSearchFailed, search_output

    room = min(params.limit or MAX_CHARACTERS, MAX_CHARACTERS)
    try:
        result = await search_output(path, pattern, params.offset or 0, room)
    except OutputSearchFailed as problem:
        raise ToolError(str(problem)) from problem
    lines = [
        f"Output {params.artifact_id}, {result.total_bytes:,} bytes: {_how_many(result, pattern, params.offset or 0)}",
        *(f"{match.line} (byte {match.offset}) | {match.text}" for match in result.found),
        *_how_to_see_whole_lines(params.artifact_id, result.found),
    ]
    if len(result.found) < result.matches and result.found:
        from robota.contracts.rest_of_result import next_page

        lines.append(f"[For the next matches: {next_page('read_command_output', params, result.found[-1].offset + 1)}]")
    return _result("\n".join(lines), f"{result.matches:,} lines match")


def _how_many(result: "OutputSearchResult", pattern: str, offset: int) -> str:
    after = f" from byte {offset:,} on" if offset else ""
    if not result.matches:
        return f"no line matches {pattern!r}{after}. Try a shorter pattern, or read it page by page."
    shown = "" if len(result.found) == result.matches else f"; showing {len(result.found):,}"
    return f"{counted(result.matches, 'line matches', 'lines match')} {pattern!r}{after}{shown}."


def _how_to_see_whole_lines(name: str, found: "Sequence[OutputMatch]") -> list[str]:
    cut = [match for match in found if match.is_cut]
    if not cut:
        return []
    from robota.contracts.rest_of_result import output_call

    return [f"[Long lines are shown in part, with …. For a whole one: {output_call(name, cut[0].offset)}]"]


def _result(content: str, summary: str) -> ToolResult:
    return ToolResult(content=content, view=TextView(text=summary))


TOOL = Tool(
    name="read_command_output",
    label="Output",
    group=ToolGroup.COMMAND,
    role=ToolRole.OUTPUT_READER,
    params=ReadCommandOutputParams,
    description=description_beside(__file__),
    effects=frozenset({Effect.READ}),
    touches=touches,
    prepare=prepare,
    title=titled("Output", "artifact_id"),
    max_result=MAX_RESULT_CHARACTERS,
)
