"""Read a text file, or a range of its lines."""

from typing import Annotated

import msgspec

from robota.contracts.tool import Effect, Preview, Tool, ToolContext, ToolError, ToolResult, Touches
from robota.protocol.views import TextView
from robota.tools.description import description_beside
from robota.tools.printable import printable
from robota.tools.refusal import problems_told_to_model
from robota.tools.say_tool import SayTool, tool_ask
from robota.workspace.text import decode

MAX_FILE_BYTES = 20 * 1024 * 1024
DEFAULT_LINES = 2000
MAX_LINE_CHARACTERS = 2000

Positive = Annotated[int, msgspec.Meta(ge=1)]


class ReadFileParams(msgspec.Struct, frozen=True, kw_only=True):
    path: Annotated[str, msgspec.Meta(description="The file, relative to the workspace.")]
    offset: Annotated[Positive | None, msgspec.Meta(description="The first line to read, counted from 1.")] = None
    limit: Annotated[
        Positive | None, msgspec.Meta(description=f"How many lines to read at most. Default {DEFAULT_LINES}.")
    ] = None


async def run(params: ReadFileParams, context: ToolContext) -> ToolResult:
    with problems_told_to_model():
        file = context.files.read(params.path, MAX_FILE_BYTES)
        lines = _lines(decode(file.data).content)
    name = printable(params.path)
    if not lines:
        return _result(f"File: {name}\nNote: the file is empty.", "The file is empty.")
    first = params.offset or 1
    if first > len(lines):
        raise ToolError(f"{name!r} has {len(lines)} lines; there is no line {first}. Use a smaller offset.")
    last = min(len(lines), first + (params.limit or DEFAULT_LINES) - 1)
    numbered = _numbered(lines[first - 1 : last], first)
    return _result(f"File: {name}\n{_notice(first, last, len(lines))}{numbered}", f"Read lines {first}-{last}.")


async def preview(params: ReadFileParams, context: ToolContext) -> Preview:
    first = params.offset or 1
    count = params.limit or DEFAULT_LINES
    reason = f"(lines {first}-{first + count - 1})" if params.offset else f"(up to {count} lines)"
    with problems_told_to_model():
        real = context.files.resolve(params.path)
    return tool_ask(
        SayTool(
            tool="readFile",
            path=printable(params.path),
            content=printable(str(real)),
            reason=reason,
            start_line=params.offset,
        )
    )


def touches(params: ReadFileParams) -> Touches:
    return Touches(paths=(params.path,))


def _lines(content: str) -> list[str]:
    """Only what editors call a line; `splitlines` would also split at form feeds and the like."""
    lines = content.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _numbered(lines: list[str], first: int) -> str:
    width = len(str(first + len(lines) - 1))
    return "\n".join(f"{number:>{width}} | {_cut(line)}" for number, line in enumerate(lines, first))


def _cut(line: str) -> str:
    return line if len(line) <= MAX_LINE_CHARACTERS else line[: MAX_LINE_CHARACTERS - 3] + "..."


def _notice(first: int, last: int, total: int) -> str:
    if last == total:
        return "" if first == 1 else f"Showing lines {first}-{last} of {total} total lines.\n"
    return (
        f"IMPORTANT: content truncated. Showing lines {first}-{last} of {total} total lines. "
        f"To read on, use offset={last + 1} and limit={last - first + 1}.\n\n"
    )


def _result(content: str, summary: str) -> ToolResult:
    return ToolResult(content=content, view=TextView(text=summary))


TOOL = Tool(
    name="read_file",
    label="Read",
    params=ReadFileParams,
    description=description_beside(__file__),
    effects=frozenset({Effect.READ}),
    run=run,
    touches=touches,
    preview=preview,
)
