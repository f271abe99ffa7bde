"""A prepared change to one file: shown in the approval, then written."""

import asyncio
from collections.abc import Callable, Collection, Iterator
from typing import TypeVar

import msgspec

from robota.contracts.tool import Prepared, ToolContext, ToolError, ToolResult, Unseen
from robota.contracts.workspace import Files
from robota.protocol.views import DiffView
from robota.text.visible import printable_name
from robota.tools.editing.changed_lines import changed_lines, size_of_change
from robota.tools.editing.diff import Difference, difference, difference_by
from robota.tools.editing.pasted_text import UnmeantText, check_new_text, remark_on_new_file
from robota.tools.presentation import DiffStats, SayTool, tool_ask
from robota.workspace.files.atomic_write import Content
from robota.workspace.files.files import FileData, WriteResult
from robota.workspace.problems import FileChanged, FileProblem, Missing, NotARegularFile, TooBig
from robota.workspace.text.encoding import TextForm, encode
from robota.workspace.text.source import LineEdit, SourceText, TextSpan
from robota.workspace.text.syntax import syntax_note

T = TypeVar("T")

LARGE = 1024 * 1024
# What the protocol calls a change of parts of a file.
EDITED_IN_PLACE = "appliedDiff"


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """A prepared change. `over` is the original file, or None for a new file.

    The decoded text is not stored: it is large, and only choosing hunks would need it again.
    """

    path: str
    data: Content
    form: TextForm
    difference: Difference
    over: FileData | None = None
    remark: str = ""


def new_file(path: str, content: str) -> FileChange:
    """The creation of a file."""
    form = TextForm()
    shown = difference(printable_name(path), None, content)
    remark = remark_on_new_file(content)
    return FileChange(path=path, data=encode(content, form), form=form, difference=shown, remark=remark)


def changed_file(path: str, source: SourceText, spans: list[TextSpan], remark: str = "") -> FileChange:
    """The replacement of some spans of a file; they must not overlap."""
    spans = [source.trimmed(span) for span in spans]
    return FileChange(
        path=path,
        data=source.replace_spans(spans),
        form=source.form,
        difference=difference_by(printable_name(path), source.text, source.index, spans),
        over=source.file,
        remark=remark,
    )


def checked_new_text(source: SourceText, spans: list[TextSpan]) -> str:
    """A remark on new text that resembles a placeholder; raises `ToolError` if lines would be lost."""
    try:
        return check_new_text(source, [source.trimmed(span) for span in spans])
    except UnmeantText as problem:
        raise ToolError(f"{problem} Nothing was changed.") from problem


def prepared_change(change: FileChange, context: ToolContext, action: str) -> Prepared:
    """The change as a prepared call; `action` names the change of an existing file in the protocol."""
    files = context.files
    view, over = change.difference.view, change.over
    preview = tool_ask(
        SayTool(
            tool="newFileCreated" if view.is_new else action,
            path=view.path,
            diff=change.difference.unified,
            diff_stats=DiffStats(added=view.added, removed=view.removed),
        ),
        view,
        unseen_part(change.difference.unseen, lambda: bytes(change.data)),
    )

    async def run() -> ToolResult:
        report = await written_off_the_loop(lambda: _written(change, files), len(change.data))
        before = None if over is None else over.data
        # A model that wrote the whole file knows its lines.
        lines = changed_lines(view, change.path) if action == EDITED_IN_PLACE and not view.is_new else ""
        # The syntax check runs in another process and may be slow.
        note = await asyncio.to_thread(syntax_note, change.path, before, change.data)
        broken = await broken_code(context, change.path, before, change.data)
        return ToolResult(content="\n".join(part for part in (report, lines, note, broken) if part), view=view)

    if over is None or change.difference.unseen:
        return Prepared(preview=preview, run=run)

    def with_hunks(chosen: Collection[int]) -> Prepared:
        if all(number in chosen for number in range(len(view.hunks))):
            return Prepared(preview=preview, run=run)
        source = SourceText(over)
        spans = [source.span_of(edit) for edit in hunk_edits(view, chosen)]
        return prepared_change(changed_file(change.path, source, spans), context, action)

    return Prepared(preview=preview, run=run, with_hunks=with_hunks)


async def broken_code(context: ToolContext, path: str, before: bytes | None, after: Content) -> str:
    """A paragraph about the code that an edit broke, for its result; empty unless a server runs that knows."""
    if context.code.asked is None:
        return ""
    # Most sessions never ask about code.
    from robota.tools.editing.broken_code import broken_code_note

    return await broken_code_note(context.code.asked, context.files, path, before, bytes(after))


def unseen_part(lines: int, whole: Callable[[], bytes]) -> Unseen | None:
    """The part that needs a separate approval because it was not shown; None if everything was."""
    return Unseen(lines=lines, whole=whole) if lines else None


async def off_the_loop(work: Callable[[], T], size: int) -> T:
    """Run read-only work on `size` bytes, in a thread if it is large, so that the event loop stays responsive."""
    return work() if size < LARGE else await asyncio.to_thread(work)


async def written_off_the_loop(work: Callable[[], T], size: int) -> T:
    """Run a write in the same way. It is awaited even after a cancellation, so that it cannot continue unnoticed."""
    if size < LARGE:
        return work()
    working = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        await asyncio.wait([working])
        raise


def size_of(files: Files, path: str) -> int:
    """The size of a file; 0 if unknown."""
    try:
        return files.resolve(path).stat().st_size
    except (OSError, FileProblem):
        return 0


def hunk_edits(view: DiffView, chosen: Collection[int]) -> Iterator[LineEdit]:
    """The chosen hunks of a diff, counted from 0, as edits of the original lines."""
    for number, hunk in enumerate(view.hunks):
        if number in chosen:
            start = hunk.old_start if hunk.old_count else hunk.old_start + 1
            new_lines = tuple(line.text for line in hunk.lines if line.kind != "remove")
            yield LineEdit(start_line=start, end_line=start + hunk.old_count - 1, new_lines=new_lines)


def _written(change: FileChange, files: Files) -> str:
    """Write the change, unless the file has been modified in the meantime. Returns the report for the model."""
    if change.over is None:
        _require_absent(change.path, files)
    return _report(change, files.write(change.path, change.data, over=change.over))


def _require_absent(path: str, files: Files) -> None:
    try:
        files.read(path, max_bytes=0)
    except Missing:
        return
    except (TooBig, NotARegularFile):
        pass
    raise FileChanged(
        f"{printable_name(path)!r} already exists and was left unchanged. Read it, then decide what to write."
    )


def _report(change: FileChange, written: WriteResult) -> str:
    form = change.form
    kept = [f"{form.encoding} encoding"] if form.encoding != "utf-8" else []
    kept += ["byte order mark"] if form.mark else []
    kept += [f"{ENDING_NAMES[form.newline]} line endings"] if form.newline in ENDING_NAMES else []
    name, view = printable_name(change.path), change.difference.view
    done = f"Created {name}" if written.created else f"Changed {name}"
    notices = [f"{done} ({size_of_change(view)})."]
    notices += [f"Kept from the existing file: {', '.join(kept)}."] if kept else []
    if written.separated_links:
        notices.append("The file had other hard links; they still have the old content.")
    notices += [change.remark] if change.remark else []
    return " ".join(notices)


ENDING_NAMES = {"\r\n": "CRLF", "\r": "CR"}
