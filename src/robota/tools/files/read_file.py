"""Read a file: text, a range of its lines or the block around one, an image, or the text of a document."""

from base64 import b64encode
from collections.abc import Awaitable, Callable, Collection
from itertools import islice
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from robota.contracts.tool import (
    SHOWN_CHARACTERS,
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
from robota.contracts.workspace import Files
from robota.protocol.conversation import ImageSource
from robota.protocol.views import FieldsView, NamedText, TextView
from robota.text.visible import printable_name
from robota.tools.presentation import SayTool, description_beside, tool_ask
from robota.workspace.files.files import FileData
from robota.workspace.problems import Missing, NotADirectory, TooBig

if TYPE_CHECKING:
    from robota.tools.documents.document_child import DocumentFormat

DEFAULT_LINES = 2000
MAX_LINE_CHARACTERS = 2000
KEPT_OF_A_CUT_LINE = MAX_LINE_CHARACTERS - len("...")
MAX_CHARACTERS = SHOWN_CHARACTERS
MAX_KEPT_OF_A_LINE = 16 * 1024  # in a document, or a file that is too large to be read as a whole
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


class ReadFileParams(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    offset: Annotated[Positive | None, msgspec.Meta(description="The first line to read, counted from 1.")] = None
    limit: Annotated[Positive | None, msgspec.Meta(description=f"How many lines. Default {DEFAULT_LINES}.")] = None
    around_line: Annotated[Positive | None, msgspec.Meta(description="Read the block around this line.")] = None


class NumberedLines(msgspec.Struct, frozen=True, kw_only=True):
    """Some lines of a text, starting with line `first`; `total` is None if the end was not reached.

    `wanted` is the last line that was asked for. `whole_lines` are those that are cut in `lines`, by number.
    """

    first: int
    lines: list[str]
    wanted: int
    total: int | None
    whole_lines: dict[int, str] = {}

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
    real = context.files.holding(params.path).resolve(params.path)
    action = SayTool(
        tool="readFile",
        path=printable_name(params.path),
        content=printable_name(str(real)),
        reason=_range_asked_for(params),
        start_line=params.around_line or params.offset,
    )
    return Prepared(preview=tool_ask(action, _shown(action)), run=lambda: _read(params, context))


def _shown(action: SayTool) -> FieldsView:
    """The path, the file that it leads to if that is another one, and the lines if not all are wanted."""
    texts = {"path": action.path, "file": action.content if action.content != action.path else None}
    if action.start_line is not None:
        texts["lines"] = action.reason
    return FieldsView(fields=tuple(NamedText(name=name, text=text) for name, text in texts.items() if text))


def touches(params: ReadFileParams) -> Touches:
    """The file that a call reads."""
    return Touches(paths=(params.path,))


async def _read(params: ReadFileParams, context: ToolContext) -> ToolResult:
    from robota.workspace.text.source import MAX_SOURCE_BYTES

    files = context.files.holding(params.path)
    try:
        file = files.read(params.path, MAX_SOURCE_BYTES)
    except (Missing, NotADirectory) as error:
        from robota.tools.files.near_names import with_near_names

        raise with_near_names(error, params.path, files) from error
    except TooBig:
        start = files.read_part(params.path, 0, KIND_BYTES).data
        if (
            params.around_line is not None
            or image_type(start) is not None
            or open_document(params.path, start) is not None
        ):
            raise
        return await _slice_of_huge_file(params, context, files)
    result = await _content(params, context, file)
    files.note_read(file)
    return result


async def _slice_of_huge_file(params: ReadFileParams, context: ToolContext, files: Files) -> ToolResult:
    # Imported here because it is rarely needed.
    from robota.tools.files.huge_file import lines_of_huge_file

    first = params.offset or 1
    count = params.limit or DEFAULT_LINES
    page = await lines_of_huge_file(files, params.path, first, count, MAX_KEPT_OF_A_LINE)
    if not page.lines:
        name = printable_name(params.path)
        raise ToolError(f"{name!r} has {page.total} lines; there is no line {first}. Use a smaller offset.")
    taken = _taken(page.lines, 1, count, page.total)
    whole = {number + first - 1: line for number, line in taken.whole_lines.items()}
    shown = msgspec.structs.replace(taken, first=first, wanted=taken.wanted + first - 1, whole_lines=whole)
    note = "The file is too large to be edited or read as a whole.\n"
    return _lines_result(params, context, shown, note + _range_notice(shown))


def _range_asked_for(params: ReadFileParams) -> str:
    if params.around_line is not None:
        return f"(the block around line {params.around_line})"
    count = params.limit or DEFAULT_LINES
    return f"(lines {params.offset}-{params.offset + count - 1})" if params.offset else f"(up to {count} lines)"


async def _content(params: ReadFileParams, context: ToolContext, file: FileData) -> ToolResult:
    media_type = image_type(file.data)
    if media_type is not None:
        return _image(params, context, file, media_type)
    document = open_document(params.path, file.data)
    if document is not None:
        return await _document(params, context, document)
    from robota.workspace.text.encoding import decode, lines_of

    lines = lines_of(decode(file.data).readable)
    if not lines:
        return _result(f"File: {printable_name(params.path)}\nNote: the file is empty.", "The file is empty.")
    if params.around_line is not None:
        return _block(params, context, params.around_line, lines)
    return _slice(params, context, lines, len(lines))


def _image(params: ReadFileParams, context: ToolContext, file: FileData, media_type: str) -> ToolResult:
    facts = f"{printable_name(params.path)} ({media_type}, {len(file.data):,} bytes)"
    if not context.sees_images:
        return _result(f"Image: {facts}\nNote: it is not shown, because you cannot see images.", "An image, not shown.")
    if len(file.data) > MAX_IMAGE_BYTES:
        raise ToolError(f"{facts} is larger than {MAX_IMAGE_BYTES:,} bytes and cannot be shown. Create a smaller copy.")
    shown = ImageSource(media_type=media_type, data=b64encode(file.data).decode("ascii"))
    return ToolResult(content=f"Image: {facts}", view=TextView(text=f"Image {facts}."), images=(shown,))


async def _document(params: ReadFileParams, context: ToolContext, document: Document) -> ToolResult:
    # Imported here because most files are plain text.
    from robota.tools.documents.opening import UnreadableDocument

    first, count = params.offset or 1, params.limit or DEFAULT_LINES
    try:
        lines = await document.lines_until(first, first + count)
    except UnreadableDocument as error:
        raise ToolError(
            f"{printable_name(params.path)!r} cannot be read as a {document.kind}: {error}. Use a command."
        ) from error
    if not lines:
        return _result(f"File: {printable_name(params.path)}\nNote: the {document.kind} contains no text.", "No text.")
    is_whole = len(lines) < first + count
    note = f"This is the text of a {document.kind}; the file itself is not text.\n"
    return _slice(params, context, lines[: first + count - 1], len(lines) if is_whole else None, note)


def _slice(
    params: ReadFileParams, context: ToolContext, lines: list[str], total: int | None, note: str = ""
) -> ToolResult:
    first = params.offset or 1
    _check_line(params, first, lines, "offset")
    shown = _taken(lines, first, first - 1 + (params.limit or DEFAULT_LINES), total)
    return _lines_result(params, context, shown, note + _range_notice(shown))


def _block(params: ReadFileParams, context: ToolContext, line: int, lines: list[str]) -> ToolResult:
    from robota.tools.files.indentation import block_around

    _check_line(params, line, lines, "around_line")
    first, last = block_around(lines, line, params.limit or DEFAULT_LINES)
    shown = _taken(lines, first, last, len(lines))
    place = f"lines {shown.first}-{shown.last} of {len(lines)} total lines"
    return _lines_result(params, context, shown, f"Showing the block around line {line}: {place}.\n")


def _check_line(params: ReadFileParams, line: int, lines: list[str], parameter: str) -> None:
    if line > len(lines):
        name = printable_name(params.path)
        raise ToolError(f"{name!r} has {len(lines)} lines; there is no line {line}. Use a smaller {parameter}.")


def _lines_result(params: ReadFileParams, context: ToolContext, shown: NumberedLines, notice: str) -> ToolResult:
    head = f"File: {printable_name(params.path)}\n{notice}"
    content = "\n".join([f"{head}{_numbered(shown)}", *_how_to_see_the_rest(params, context, shown)])
    return _result(content, f"Read lines {shown.first}-{shown.last}.")


def _how_to_see_the_rest(params: ReadFileParams, context: ToolContext, shown: NumberedLines) -> list[str]:
    """The exact calls that return what was cut: the rest of long lines, and the lines after the last one."""
    from robota.contracts.rest_of_result import byte_offset, how_to_read_rest, named_call

    calls: list[str] = []
    if shown.whole_lines:
        kept_as = context.keep("\n".join(shown.whole_lines.values()).encode("utf-8", "surrogateescape"))
        is_one = len(shown.whole_lines) == 1
        # The rest of a single line begins where it was cut; several are returned whole.
        offset = byte_offset(next(iter(shown.whole_lines.values()))[:KEPT_OF_A_CUT_LINE]) if is_one else 0
        order = "" if is_one or kept_as is None else " They are stored whole, in this order."
        calls.append(
            f"[Cut at {MAX_LINE_CHARACTERS} characters: {_lines_named(shown.whole_lines)}.{order} "
            f"{how_to_read_rest(kept_as, offset)}]"
        )
    if cut := [number for number, line in shown.whole_lines.items() if len(line) == MAX_KEPT_OF_A_LINE]:
        calls.append(f"[Of {_lines_named(cut)}, {MAX_KEPT_OF_A_LINE:,} characters are kept. Use a command for more.]")
    end = shown.wanted if shown.total is None else min(shown.wanted, shown.total)
    does_not_fit = shown.last < end
    goes_on = shown.last != shown.total and params.around_line is None and None in (params.limit, shown.total)
    if does_not_fit or goes_on:
        limit = {} if params.limit is params.around_line is None else {"limit": end - shown.last or params.limit}
        calls.append(f"[To read on: {named_call('read_file', path=params.path, offset=shown.last + 1, **limit)}]")
    return calls


def _lines_named(numbers: Collection[int]) -> str:
    """`line 3`, or `lines 3, 5-9`: neighbours as a range."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return f"line{'s' if len(numbers) > 1 else ''} {', '.join('-'.join(map(str, run)) for run in runs)}"


def _result(content: str, summary: str) -> ToolResult:
    return ToolResult(content=content, view=TextView(text=summary))


def _taken(lines: list[str], first: int, last: int, total: int | None) -> NumberedLines:
    """The lines `first` to `last`, as many as fit into a result, very long ones cut."""
    taken: list[str] = []
    whole: dict[int, str] = {}
    room = MAX_CHARACTERS
    for number, line in enumerate(lines[first - 1 : last], first):
        shown = line if len(line) <= MAX_LINE_CHARACTERS else line[:KEPT_OF_A_CUT_LINE] + "..."
        room -= len(shown) + ROOM_FOR_NUMBER
        if room < 0:
            break
        taken.append(shown)
        if shown is not line:
            whole[number] = line
    return NumberedLines(first=first, lines=taken, wanted=last, total=total, whole_lines=whole)


def _numbered(shown: NumberedLines) -> str:
    width = len(str(shown.last))
    return "\n".join(f"{number:>{width}} | {line}" for number, line in enumerate(shown.lines, shown.first))


def _range_notice(shown: NumberedLines) -> str:
    """Which lines are shown, unless all are."""
    if shown.first == 1 and shown.last == shown.total:
        return ""
    of_all = "of more" if shown.total is None else f"of {shown.total} total lines"
    return f"Showing lines {shown.first}-{shown.last} {of_all}.\n"


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

        lines = WantedLines(
            first=first,
            last=last,
            characters=MAX_CHARACTERS,
            shown_of_a_line=MAX_LINE_CHARACTERS,
            kept_of_a_line=MAX_KEPT_OF_A_LINE,
        )
        return await document_lines(document_format, data, lines)

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
