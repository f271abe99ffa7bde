"""Replace a piece of text in a file, or create a new file."""

from typing import TYPE_CHECKING, Annotated

import msgspec

from robota.contracts.tool import Effect, HookNames, Prepared, Tool, ToolContext, ToolError, ToolGroup, Touches, titled
from robota.contracts.workspace import Files
from robota.providers.chunks import EditFormat
from robota.text.visible import printable_name
from robota.tools.presentation import description_beside
from robota.workspace.problems import Missing, NotADirectory

if TYPE_CHECKING:
    from robota.tools.editing.change import FileChange
    from robota.tools.editing.find_text import Ambiguous, FoundText, Unclear
    from robota.workspace.text.source import SourceText


class EditFileParams(msgspec.Struct, frozen=True, kw_only=True):
    path: str
    old_string: Annotated[str, msgspec.Meta(description="The text to replace, exactly as it is in the file.")]
    new_string: Annotated[str, msgspec.Meta(description="The text that replaces it.")]
    replace_all: bool = False


async def prepare(params: EditFileParams, context: ToolContext) -> Prepared:
    """The file with the text replaced, or the new file."""
    # Imported here because a task without edits does not need it.
    from robota.tools.editing.change import off_the_loop, prepared_change, size_of

    # Finding and showing a single place is fast, even in a large file.
    size = size_of(context.files, params.path) if params.replace_all else len(params.new_string)
    change = await off_the_loop(lambda: _change(params, context.files), size)
    return prepared_change(change, context, "appliedDiff")


def touches(params: EditFileParams) -> Touches:
    """What the call touches, for policy."""
    return Touches(paths=(params.path,))


def _change(params: EditFileParams, files: Files) -> "FileChange":
    from robota.tools.editing.change import changed_file, checked_new_text
    from robota.tools.editing.find_text import FoundText, find_text
    from robota.workspace.text.encoding import plain_newlines
    from robota.workspace.text.source import read_source

    if params.old_string == params.new_string:
        raise ToolError(
            "old_string and new_string are the same. Nothing was changed. Give the text as it should become."
        )
    if not params.old_string:
        return _creation(params, files)
    try:
        source = read_source(files, params.path)
    except (Missing, NotADirectory) as error:
        from robota.tools.files.near_names import where_else

        new = "To make a new file, leave old_string empty or use write_to_file."
        raise ToolError(f"{error} {where_else(params.path, files)} {new}") from error
    old = plain_newlines(params.old_string)
    new = params.new_string if "\r" not in params.old_string else plain_newlines(params.new_string)
    search = find_text(source.text, old, new, everywhere=params.replace_all)
    if not isinstance(search, FoundText):
        raise _not_replaced(params, source, search)
    remark = " ".join(filter(None, (_remark(search), checked_new_text(source, search.spans))))
    return changed_file(params.path, source, search.spans, remark)


def _creation(params: EditFileParams, files: Files) -> "FileChange":
    from robota.tools.editing.change import new_file
    from robota.workspace.text.source import MAX_SOURCE_BYTES

    try:
        files.read(params.path, MAX_SOURCE_BYTES)
    except Missing:
        return new_file(params.path, params.new_string)
    raise ToolError(
        f"{printable_name(params.path)!r} exists, and an empty old_string only makes a new file. It was not changed. "
        "Give the text to replace, or use write_to_file to replace the whole file."
    )


def _remark(found: "FoundText") -> str:
    if found.loosely:
        return f"old_string has no exact match in the file; it was matched {found.loosely}. Check the result."
    return f"Replaced {found.count} occurrences." if found.count > 1 else ""


def _not_replaced(params: EditFileParams, source: "SourceText", found: "Ambiguous | Unclear | None") -> ToolError:
    from robota.tools.editing.find_text import Unclear
    from robota.tools.editing.indentation import UNCLEAR

    if found is None:
        return _not_found(params, source)
    name = printable_name(params.path)
    if isinstance(found, Unclear):
        return ToolError(
            f"old_string has no exact match in {name!r}, but a close one at line {found.line}. {UNCLEAR} "
            "Nothing was changed."
        )
    places = ", ".join(str(line) for line in found.lines)
    places += ", …" if found.count > len(found.lines) else ""
    if found.loosely:
        return ToolError(
            f"old_string has no exact match in {name!r}; {found.loosely} it occurs {found.count} times, at lines "
            f"{places}. Nothing was changed. Copy the text exactly, with more lines around it."
        )
    return ToolError(
        f"old_string occurs {found.count} times in {name!r}, at lines {places}. Nothing was changed. "
        "Give more lines around it so that it is unique, or set replace_all."
    )


def _not_found(params: EditFileParams, source: "SourceText") -> ToolError:
    from robota.tools.editing.nearest_text import nearest_text
    from robota.tools.editing.pasted_text import NUMBERED
    from robota.workspace.text.encoding import lines_of, plain_newlines

    quoted = lines_of(plain_newlines(params.old_string))
    if all(NUMBERED.match(line) for line in quoted if line.strip()):
        return ToolError(
            f"old_string was not found in {printable_name(params.path)!r}: its lines begin with numbers and bars, here "
            f"{quoted[0].strip()[:80]!r}. They belong to the listing of read_file, not to the file. Nothing was "
            "changed. Give old_string and new_string again without them."
        )
    nearest = nearest_text(source.lines, quoted)
    return ToolError(
        f"old_string was not found in {printable_name(params.path)!r}. Nothing was changed. {nearest}\n"
        "Copy the text exactly as it is in the file, without line numbers, or read the file again."
    )


TOOL = Tool(
    name="edit_file",
    label="Edit",
    group=ToolGroup.EDIT,
    params=EditFileParams,
    description=description_beside(__file__),
    effects=frozenset({Effect.WRITE}),
    touches=touches,
    prepare=prepare,
    edit_format=EditFormat.REPLACE,
    editable="new_string",
    title=titled("Edit", "path"),
    hook_names=HookNames(arguments={"path": "file_path"}, path="path"),
)
