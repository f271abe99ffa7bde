"""Read a file: text, a range of its lines or the block around one, an image, or the text of a document."""

from base64 import b64encode
from collections.abc import Awaitable, Callable
from itertools import islice
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Final, Literal

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
    ToolRole,
    Touches,
    titled,
)
from robota.protocol.conversation import ImageSource
from robota.protocol.views import TextView
from robota.text.visible import printable_name
from robota.tools.presentation import SayTool, description_beside, tool_ask
from robota.workspace.files.files import FileData
from robota.workspace.problems import TooBig

if TYPE_CHECKING:
    from robota.tools.documents.document_child import DocumentFormat

DEFAULT_LINES = 2000
MAX_LINE_CHARACTERS = 2000
MAX_CHARACTERS = 90_000  # a little below what the engine gives to a model as one result
ROOM_FOR_NUMBER = 10
MAX_IMAGE_BYTES = 5 * 1024 * 1024

KIND_BYTES: Final = 16  # enough to detect the kind of file
ZIP_START: Final = b"PK\x03\x04"
IMAGE_STARTS: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)

Positive = Annotated[int, msgspec.Meta(ge=1)]


class IndentationParams(msgspec.Struct, frozen=True, kw_only=True):
    anchor_line: Annotated[
        Positive | None, msgspec.Meta(description="The line whose block to read. Default: offset, or 1.")
    ] = None
    max_levels: Annotated[
        int, msgspec.Meta(ge=0, description="How many levels of indentation to go out. 0, the default: all of them.")
    ] = 0
    include_siblings: Annotated[
        bool, msgspec.Meta(description="Whether to include the blocks beside it on the outermost level. Default false.")
    ] = False
    include_header: Annotated[
        bool, msgspec.Meta(description="Whether to include comments and decorators right above. Default true.")
    ] = True
    max_lines: Annotated[Positive | None, msgspec.Meta(description="How many lines to return at most.")] = None


class ReadFileParams(msgspec.Struct, frozen=True, kw_only=True):
    path: Annotated[str, msgspec.Meta(description="The file, relative to the workspace.")]
    mode: Annotated[
        Literal["slice", "indentation"],
        msgspec.Meta(description="`slice` (default): lines from offset on; `indentation`: the block around a line."),
    ] = "slice"
    offset: Annotated[Positive | None, msgspec.Meta(description="The first line to read, counted from 1.")] = None
    limit: Annotated[
        Positive | None, msgspec.Meta(description=f"How many lines to read at most. Default {DEFAULT_LINES}.")
    ] = None
    indentation: Annotated[
        IndentationParams | None, msgspec.Meta(description="Which block to read in `indentation` mode.")
    ] = None

    @property
    def anchor(self) -> int:
        return (self.indentation and self.indentation.anchor_line) or self.offset or 1


class NumberedLines(msgspec.Struct, frozen=True, kw_only=True):
    """Some lines of a text, starting with line `first`; `total` is None if the end was not reached."""

    first: int
    lines: list[str]
    total: int | None

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A document from which text can be extracted. `lines_until` is called with the first and the last line to show.

    It returns all lines up to the last; those before the first may be empty.
    """

    kind: str
    lines_until: Callable[[int, int], Awaitable[list[str]]]


async def prepare(params: ReadFileParams, context: ToolContext) -> Prepared:
    """Show what will be read and its real path; `run` opens the file."""
    real = context.files.resolve(params.path)
    action = SayTool(
        tool="readFile",
        path=printable_name(params.path),
        content=printable_name(str(real)),
        reason=_range_asked_for(params),
        start_line=params.anchor if params.mode == "indentation" else params.offset,
    )
    return Prepared(preview=tool_ask(action), run=lambda: _read(params, context))


def touches(params: ReadFileParams) -> Touches:
    """The file that a call reads."""
    return Touches(paths=(params.path,))


async def _read(params: ReadFileParams, context: ToolContext) -> ToolResult:
    from robota.workspace.text.source import MAX_SOURCE_BYTES

    try:
        file = context.files.read(params.path, MAX_SOURCE_BYTES)
    except TooBig:
        start = context.files.read_part(params.path, 0, KIND_BYTES).data
        if params.mode != "slice" or image_type(start) is not None or open_document(params.path, start) is not None:
            raise
        return await _slice_of_huge_file(params, context)
    result = await _content(params, context, file)
    context.files.note_read(file)
    return result


async def _slice_of_huge_file(params: ReadFileParams, context: ToolContext) -> ToolResult:
    # Imported here because it is rarely needed.
    from robota.tools.files.huge_file import lines_of_huge_file

    first = params.offset or 1
    found = await lines_of_huge_file(context.files, params.path, first, params.limit or DEFAULT_LINES)
    if not found.lines:
        name = printable_name(params.path)
        raise ToolError(f"{name!r} has {found.total} lines; there is no line {first}. Use a smaller offset.")
    shown = msgspec.structs.replace(_taken(found.lines, 1, len(found.lines), found.total), first=first)
    note = "The file is too large to be edited or read as a whole.\n"
    return _lines_result(params, shown, note + _range_notice(shown, params.limit))


def _range_asked_for(params: ReadFileParams) -> str:
    if params.mode == "indentation":
        return f"(indentation mode at line {params.anchor})"
    count = params.limit or DEFAULT_LINES
    return f"(lines {params.offset}-{params.offset + count - 1})" if params.offset else f"(up to {count} lines)"


async def _content(params: ReadFileParams, context: ToolContext, file: FileData) -> ToolResult:
    media_type = image_type(file.data)
    if media_type is not None:
        return _image(params, context, file, media_type)
    document = open_document(params.path, file.data)
    if document is not None:
        return await _document(params, document)
    from robota.workspace.text.encoding import decode, lines_of

    lines = lines_of(decode(file.data).readable)
    if not lines:
        return _result(f"File: {printable_name(params.path)}\nNote: the file is empty.", "The file is empty.")
    return _block(params, lines) if params.mode == "indentation" else _slice(params, lines, len(lines))


def _image(params: ReadFileParams, context: ToolContext, file: FileData, media_type: str) -> ToolResult:
    facts = f"{printable_name(params.path)} ({media_type}, {len(file.data):,} bytes)"
    if not context.sees_images:
        return _result(f"Image: {facts}\nNote: it is not shown, because you cannot see images.", "An image, not shown.")
    if len(file.data) > MAX_IMAGE_BYTES:
        raise ToolError(f"{facts} is larger than {MAX_IMAGE_BYTES:,} bytes and cannot be shown. Create a smaller copy.")
    shown = ImageSource(media_type=media_type, data=b64encode(file.data).decode("ascii"))
    return ToolResult(content=f"Image: {facts}", view=TextView(text=f"Image {facts}."), images=(shown,))


async def _document(params: ReadFileParams, document: Document) -> ToolResult:
    # Imported here because most files are plain text.
    from robota.tools.documents.opening import UnreadableDocument

    first, count = params.offset or 1, params.limit or DEFAULT_LINES
    try:
        lines = await document.lines_until(first, first + count)
    except UnreadableDocument as error:
        raise ToolError(f"{printable_name(params.path)!r} cannot be read as a {document.kind}: {error}.") from error
    if not lines:
        return _result(f"File: {printable_name(params.path)}\nNote: the {document.kind} contains no text.", "No text.")
    is_whole = len(lines) < first + count
    note = f"This is the text of a {document.kind}; the file itself is not text.\n"
    return _slice(params, lines[: first + count - 1], len(lines) if is_whole else None, note)


def _slice(params: ReadFileParams, lines: list[str], total: int | None, note: str = "") -> ToolResult:
    first = params.offset or 1
    _check_line(params, first, lines, "offset")
    shown = _taken(lines, first, first - 1 + (params.limit or DEFAULT_LINES), total)
    return _lines_result(params, shown, note + _range_notice(shown, params.limit))


def _block(params: ReadFileParams, lines: list[str]) -> ToolResult:
    from robota.tools.files.indentation import IndentationBlock, block_around

    _check_line(params, params.anchor, lines, "anchor_line")
    indentation = params.indentation or IndentationParams()
    block = IndentationBlock(
        anchor=params.anchor,
        levels=indentation.max_levels,
        siblings=indentation.include_siblings,
        header=indentation.include_header,
    )
    limit = params.limit or DEFAULT_LINES
    first, last = block_around(lines, block, min(limit, indentation.max_lines or limit))
    shown = _taken(lines, first, last, len(lines))
    place = f"lines {shown.first}-{shown.last} of {len(lines)} total lines"
    return _lines_result(params, shown, f"Showing the block around line {params.anchor}: {place}.\n")


def _check_line(params: ReadFileParams, line: int, lines: list[str], parameter: str) -> None:
    if line > len(lines):
        name = printable_name(params.path)
        raise ToolError(f"{name!r} has {len(lines)} lines; there is no line {line}. Use a smaller {parameter}.")


def _lines_result(params: ReadFileParams, shown: NumberedLines, notice: str) -> ToolResult:
    content = f"File: {printable_name(params.path)}\n{notice}{_numbered(shown)}"
    return _result(content, f"Read lines {shown.first}-{shown.last}.")


def _result(content: str, summary: str) -> ToolResult:
    return ToolResult(content=content, view=TextView(text=summary))


def _taken(lines: list[str], first: int, last: int, total: int | None) -> NumberedLines:
    """The lines `first` to `last`, as many as fit into a result, very long ones cut."""
    taken: list[str] = []
    room = MAX_CHARACTERS
    for line in lines[first - 1 : last]:
        shown = line if len(line) <= MAX_LINE_CHARACTERS else line[: MAX_LINE_CHARACTERS - 3] + "..."
        room -= len(shown) + ROOM_FOR_NUMBER
        if room < 0:
            break
        taken.append(shown)
    return NumberedLines(first=first, lines=taken, total=total)


def _numbered(shown: NumberedLines) -> str:
    width = len(str(shown.last))
    return "\n".join(f"{number:>{width}} | {line}" for number, line in enumerate(shown.lines, shown.first))


def _range_notice(shown: NumberedLines, limit: int | None) -> str:
    """Which lines are shown, unless all are; if fewer than requested, how to read the next ones."""
    if shown.first == 1 and shown.last == shown.total:
        return ""
    of_all = "of more" if shown.total is None else f"of {shown.total} total lines"
    lines = f"Showing lines {shown.first}-{shown.last} {of_all}."
    if shown.last == shown.total or (shown.total is not None and len(shown.lines) == limit):
        return f"{lines}\n"
    read_on = f"To read on, use offset={shown.last + 1} and limit={len(shown.lines)}."
    return f"IMPORTANT: content truncated. {lines} {read_on}\n\n"


def image_type(data: bytes) -> str | None:
    """The media type, by the first bytes; None if it is not an image that models accept."""
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for start, media_type in IMAGE_STARTS if data.startswith(start)), None)


def open_document(path: str, data: bytes) -> Document | None:
    """The document in the file; None if the format is not supported."""
    suffix = PurePath(path).suffix.lower()
    if data.startswith(b"%PDF-"):
        return _foreign("PDF", "pdf", data)
    if suffix == ".docx" and data.startswith(ZIP_START):
        return _foreign("Word document", "docx", data)
    if suffix in {".xlsx", ".xlsm"} and data.startswith(ZIP_START):
        return _foreign("spreadsheet", "xlsx", data)
    return _notebook(data) if suffix == ".ipynb" else None


def _foreign(kind: str, document_format: "DocumentFormat", data: bytes) -> Document:
    async def lines_until(first: int, last: int) -> list[str]:
        # Loaded with the first document.
        from robota.tools.documents.document_child import WantedLines, document_lines

        wanted = WantedLines(first=first, last=last, characters=MAX_CHARACTERS, line_characters=MAX_LINE_CHARACTERS + 1)
        return await document_lines(document_format, data, wanted)

    return Document(kind=kind, lines_until=lines_until)


def _notebook(data: bytes) -> Document | None:
    from robota.tools.documents.notebook import notebook_lines

    lines = notebook_lines(data)
    if lines is None:
        return None

    async def lines_until(first: int, last: int) -> list[str]:
        return list(islice(lines, last))

    return Document(kind="notebook", lines_until=lines_until)


TOOL = Tool(
    name="read_file",
    label="Read",
    group=ToolGroup.READ,
    role=ToolRole.FILE_READER,
    params=ReadFileParams,
    description=description_beside(__file__),
    effects=frozenset({Effect.READ}),
    touches=touches,
    prepare=prepare,
    hook_names=HookNames(arguments={"path": "file_path"}, path="path"),
    title=titled("Read", "path"),
)
