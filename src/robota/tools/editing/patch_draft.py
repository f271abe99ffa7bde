"""Applies a patch to all its files without writing: what `apply_patch` shows and then does."""

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import assert_never

import msgspec

from robota.contracts.tool import Prepared, ToolContext, ToolError
from robota.contracts.workspace import Files
from robota.text.visible import printable_name
from robota.tools.editing.change import changed_file, hunk_edits, prepared_change
from robota.tools.editing.chunk_placement import PlacedChunk, UnplacedChunk, place_chunks
from robota.tools.editing.diff import Difference, difference, difference_by
from robota.tools.editing.matching import SearchedLines
from robota.tools.editing.pasted_text import UnmeantText, check_new_text, remark_on_new_file
from robota.tools.editing.patch_format import AddFile, BadPatch, DeleteFile, Operation, UpdateFile, paths_of, read_patch
from robota.workspace.files.atomic_write import Content
from robota.workspace.files.change_set import Change, Link, Remove, Write
from robota.workspace.files.files import FileData, LinkData
from robota.workspace.problems import BinaryContent, FileProblem, Missing, NotADirectory, NotARegularFile, TooBig
from robota.workspace.text.source import MAX_SOURCE_BYTES, SourceText, read_source


class FileDraft(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome for one file.

    `operation` is the word for it in the result. `loose` describes chunks that were not matched exactly, `remark` new
    text that appears pasted. `file` is set if the text is changed.
    """

    path: str
    operation: str
    changes: tuple[Change, ...]
    difference: Difference
    before: bytes | None = None
    after: Content | None = None
    moved_to: str | None = None
    loose: tuple[str, ...] = ()
    remark: str = ""
    file: FileData | None = None


class _Unusable(Exception):
    """An operation that cannot be done. The text is a paragraph of the report."""


def draft_patch(files: Files, patch: str) -> tuple[FileDraft, ...]:
    """Apply all operations. Raises a `ToolError` that reports each one that cannot be done."""
    try:
        operations = read_patch(patch)
    except BadPatch as error:
        raise ToolError(str(error)) from error
    drafts: list[FileDraft] = []
    problems = list(_twice_named(files, operations))
    for operation in operations:
        try:
            drafts.append(_draft(files, operation))
        except (Missing, NotADirectory) as problem:
            from robota.tools.files.near_names import where_else

            problems.append(f"{problem} {where_else(operation.path, files)}")
        except (_Unusable, FileProblem) as problem:
            problems.append(str(problem))
    if problems:
        raise ToolError(_failure(problems))
    return tuple(drafts)


def hunk_choice(draft: FileDraft, context: ToolContext) -> Callable[[Collection[int]], Prepared] | None:
    """How to apply only some hunks of a patch to one file; None if the file is not merely changed."""
    file = draft.file
    if file is None or draft.moved_to is not None or draft.difference.unseen:
        return None
    shown = draft.difference.view

    def with_hunks(chosen: Collection[int]) -> Prepared:
        source = SourceText(file)
        spans = [source.span_of(edit) for edit in hunk_edits(shown, chosen)]
        return prepared_change(changed_file(draft.path, source, spans), context, "appliedDiff")

    return with_hunks


def _draft(files: Files, operation: Operation) -> FileDraft:
    match operation:
        case AddFile():
            return _added(files, operation)
        case DeleteFile():
            return _deleted(files, operation)
        case UpdateFile():
            return _updated(files, operation)
        case _:
            assert_never(operation)


def _added(files: Files, operation: AddFile) -> FileDraft:
    _check_free(files, operation.path, f"Use '*** Update File: {operation.path}' to change it.")
    text = "".join(f"{line}\n" for line in operation.lines)
    data = _encoded(operation.path, text)
    return FileDraft(
        path=operation.path,
        operation="created",
        changes=(Write(path=operation.path, data=data),),
        difference=difference(printable_name(operation.path), None, text),
        after=data,
        remark=remark_on_new_file(text),
    )


def _deleted(files: Files, operation: DeleteFile) -> FileDraft:
    link = files.read_link(operation.path)
    if link is not None:
        return FileDraft(
            path=operation.path,
            operation="deleted",
            changes=(Remove(path=operation.path, over=link),),
            difference=difference(printable_name(operation.path), printable_name(link.target), ""),
        )
    file = files.read(operation.path, MAX_SOURCE_BYTES)
    files.check_read(operation.path, file, required=False)
    try:
        text = SourceText(file).text
    except BinaryContent:
        text = ""
    return FileDraft(
        path=operation.path,
        operation="deleted",
        changes=(Remove(path=operation.path, over=file),),
        difference=difference(printable_name(operation.path), text, ""),
        before=file.data,
    )


def _updated(files: Files, operation: UpdateFile) -> FileDraft:
    path, target = operation.path, operation.move_to
    link = files.read_link(path) if target is not None else None
    if link is not None and target is not None:
        return _moved_link(files, operation, link, target)
    source = read_source(files, path)
    lines = SearchedLines(source)
    placed, unplaced = place_chunks(lines, operation.chunks)
    if unplaced:
        raise _Unusable("\n\n".join(_report(path, each, source.lines) for each in unplaced))
    spans = [source.trimmed(source.span_of(edit)) for chunk in placed for edit in chunk.edits]
    try:
        pasted = check_new_text(source, spans)
    except UnmeantText as problem:
        raise _Unusable(f"{path!r}: {problem}") from problem
    if target is not None:
        _check_free(files, target, "Choose another name, or delete it first.")
    elif not any(spans):
        raise _Unusable(f"{path!r}: the patch changes nothing in it.")
    data = source.replace_spans(spans)
    shown = printable_name(path) if target is None else f"{printable_name(path)} → {printable_name(target)}"
    return FileDraft(
        path=path,
        operation="modified" if target is None else "moved",
        changes=_changes(path, target, source, data),
        difference=difference_by(shown, source.text, source.index, spans),
        before=source.file.data,
        after=data,
        moved_to=target,
        file=source.file,
        loose=tuple(_loosely(path, chunk) for chunk in placed if chunk.passed_over),
        remark=pasted,
    )


def _moved_link(files: Files, operation: UpdateFile, link: LinkData, target: str) -> FileDraft:
    """Rename a symlink. Its target stays the same, as with `mv`."""
    path = operation.path
    if operation.chunks:
        raise _Unusable(
            f"{path!r} is a symbolic link to {printable_name(link.target)!r}. Moving it moves the link, not the file; "
            "change the content of the file it leads to in a section of its own."
        )
    _check_free(files, target, "Choose another name, or delete it first.")
    return FileDraft(
        path=path,
        operation="moved",
        changes=(Link(path=target, target=link.target), Remove(path=path, over=link)),
        difference=difference(f"{printable_name(path)} → {printable_name(target)}", "", ""),
        moved_to=target,
    )


def _changes(path: str, target: str | None, source: SourceText, data: Content) -> tuple[Change, ...]:
    if target is None:
        return (Write(path=path, data=data, over=source.file),)
    return (Write(path=target, data=data, mode_of=path), Remove(path=path, over=source.file))


def _loosely(path: str, chunk: PlacedChunk) -> str:
    return f"chunk {chunk.number} of {printable_name(path)} at line {chunk.start + 1}: {chunk.passed_over}"


def _check_free(files: Files, path: str, advice: str) -> None:
    """A file is only created where nothing exists and where the model has access."""
    try:
        files.read(path, max_bytes=0)
    except Missing:
        return
    except (TooBig, NotARegularFile):
        pass
    raise _Unusable(f"{path!r} exists already. {advice}")


def _encoded(path: str, text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise _Unusable(f"{path!r}: the new text contains a character that cannot be written as UTF-8.") from error


def _twice_named(files: Files, operations: Sequence[Operation]) -> Iterator[str]:
    """No file may appear twice, not even under two names."""
    first: dict[Path, str] = {}
    for path in (path for operation in operations for path in paths_of(operation)):
        try:
            real = files.resolve(path)
        except FileProblem:
            continue  # reported with its operation
        if real in first:
            yield f"{path!r} is named twice by the patch. Put all changes of a file into one '*** Update File' section."
        first[real] = path


def _report(path: str, unplaced: UnplacedChunk, lines: Sequence[str]) -> str:
    report = f"{path!r}, chunk {unplaced.number}: {unplaced.reason}"
    if not unplaced.sought:
        return report
    # Imported here because only failed edits need the library for comparing texts.
    from robota.tools.editing.nearest_text import nearest_text

    return f"{report}\n{nearest_text(lines, unplaced.sought)}"


def _failure(problems: Sequence[str]) -> str:
    return "\n\n".join(
        [
            "The patch cannot be applied. Nothing was changed: a patch is applied as a whole or not at all.",
            *problems,
            "Fix this and give the whole patch again. If in doubt, read the file first.",
        ]
    )
