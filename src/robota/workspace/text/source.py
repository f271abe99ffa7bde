"""A text file opened for editing: match on plain text, get back bytes that differ only in the edit.

How an edit tool uses it:

    source = read_source(context.files, path)            # refused if the file changed since the model read it
    ... find the place in `source.text` or `source.lines`, which never hold a carriage return ...
    data = source.replace([LineEdit(start_line=3, end_line=4, new_lines=("new",))])
    context.files.write(path, data, over=source.file)     # refused if the file changed in the meantime

In `text` every line ends with `\\n`, and a byte that is invalid in the file's encoding is U+FFFD. Text that an edit
does not touch keeps its bytes. A new line gets the ending of the line it replaces, else of its neighbours; U+FFFD in
new text becomes the original byte again.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise

import msgspec

from robota.workspace.files.atomic_write import Pieces
from robota.workspace.files.files import EditableFiles, FileData
from robota.workspace.problems import Unencodable
from robota.workspace.text.encoding import (
    BYTE_TRANSPARENT,
    CACHED,
    REPLACEMENT,
    TextForm,
    decode,
    encode_part,
    lines_of,
    plain_newlines,
)
from robota.workspace.text.line_index import LineIndex

MAX_SOURCE_BYTES = 20 * 1024 * 1024
PLACEHOLDERS = re.compile("[\udc80-\udcff\ufffd]")
CHARACTER_BYTES = {"cp1252": 1, "latin-1": 1, "utf-32-le": 4, "utf-32-be": 4}


class LineEdit(msgspec.Struct, frozen=True, kw_only=True):
    """Replace lines `start_line` to `end_line`, inclusive and counted from 1, by `new_lines` (without endings).

    With `end_line == start_line - 1`, the new lines are inserted before `start_line`, which may be one past the end.
    """

    start_line: int
    end_line: int
    new_lines: Sequence[str]


class TextSpan(msgspec.Struct, frozen=True, kw_only=True):
    """Replace the characters `start` to `end` (exclusive) of `SourceText.text` by `new`."""

    start: int
    end: int
    new: str

    def __bool__(self) -> bool:
        """Whether a trimmed span changes anything."""
        return self.start < self.end or bool(self.new)


def read_source(files: EditableFiles, path: str, *, must_be_read: bool = False) -> "SourceText":
    """Open a file for editing. `FileProblem` if it is missing, binary, too big, ignored, or changed since it was read.

    `must_be_read` also refuses a file that the model has never read.
    """
    source = SourceText(files.read(path, MAX_SOURCE_BYTES))
    files.check_read(path, source.file, required=must_be_read)
    return source


class SourceText:
    """The decoded content of one file. Immutable: an edit returns bytes, not another source."""

    def __init__(self, file: FileData) -> None:
        self._decoded = decode(file.data)
        self._has_returns = self._decoded.has_returns
        self.file = file
        self.form: TextForm = self._decoded.form

    @cached_property
    def text(self) -> str:
        """The text to match against: line endings are `\\n`, invalid bytes are U+FFFD."""
        return self._decoded.readable

    @cached_property
    def lines(self) -> list[str]:
        """The lines of `text` without their endings; a final newline does not start another line."""
        return lines_of(self.text)

    @cached_property
    def index(self) -> LineIndex:
        """An index of the lines of `text`, for callers that do not need them all."""
        return LineIndex(self.text)

    @cached_property
    def _raw(self) -> str:
        return self._decoded.content

    def replace(self, edits: Iterable[LineEdit]) -> bytes:
        """The file with some lines replaced. Edits may come in any order but must not overlap."""
        return bytes(self.replace_spans(self.span_of(edit) for edit in edits))

    def replace_spans(self, spans: Iterable[TextSpan]) -> Pieces:
        """The file with some spans of `text` replaced. They may come in any order but must not overlap."""
        data, pieces = memoryview(self.file.data), list[bytes | memoryview]()
        offset = raw_offset = 0
        byte_offset = written = len(self.form.mark)
        for span in sorted(spans, key=lambda span: (span.start, span.end)):
            if not offset <= span.start <= span.end <= len(self.text):
                raise ValueError(f"{span} overlaps another edit or lies outside the text")
            lean = self.trimmed(span)
            start = self._raw_position(lean.start, offset, raw_offset)
            end = self._raw_position(lean.end, lean.start, start)
            new = encode_part(self._in_raw_form(lean, start, end), self.form)
            first_byte = byte_offset + self._byte_count(raw_offset, start)
            offset, raw_offset, byte_offset = lean.end, end, first_byte + self._byte_count(start, end)
            pieces += [data[written:first_byte], new]
            written = byte_offset
        return Pieces((self.form.mark, *pieces, data[written:]))

    def trimmed(self, span: TextSpan) -> TextSpan:
        """Reduce a span to the part that really changes, so that the line endings around it are not touched."""
        old, new = self.text[span.start : span.end], self._normalize_newlines(span.new)
        head = common_prefix(old, new)
        tail = common_suffix(old, new, min(len(old), len(new)) - head)
        return TextSpan(start=span.start + head, end=span.end - tail, new=new[head : len(new) - tail])

    def span_of(self, edit: LineEdit) -> TextSpan:
        """Convert an edit of lines to a span of characters."""
        if not 1 <= edit.start_line <= edit.end_line + 1:
            raise ValueError(f"lines {edit.start_line}-{edit.end_line} are not in the order of a file")
        start, end, last = self.index.start_of(edit.start_line - 1), self.index.start_of(edit.end_line), len(self.text)
        new = "".join(f"{line}\n" for line in edit.new_lines)
        if end <= last:
            return TextSpan(start=start, end=end, new=new)
        # The last line has no ending.
        return TextSpan(
            start=min(start, last), end=last, new="\n" * (start > last and bool(new)) + new.removesuffix("\n")
        )

    def _normalize_newlines(self, new: str) -> str:
        """Keep carriage returns of new text if the file has none; else they are part of line endings."""
        return plain_newlines(new) if self._has_returns else new

    def _raw_position(self, position: int, start: int, raw_start: int) -> int:
        """Convert a position of `text` to the raw text, counting from a known pair of positions."""
        raw = first_guess = raw_start + position - start
        if not self._has_returns:
            return raw
        if self.form.newline == "\r\n":
            return raw + self.text.count("\n", start, position)
        while True:
            further = first_guess + self._raw.count("\r\n", raw_start, raw + 1)
            if further == raw:
                return raw
            raw = further

    def _byte_count(self, start: int, end: int) -> int:
        """The number of bytes of a part of the raw text in the file."""
        fixed = 1 if self.form.encoding == "utf-8" and self.text.isascii() else CHARACTER_BYTES.get(self.form.encoding)
        if fixed is not None:
            return fixed * (end - start)
        # In pieces that fit in the processor's cache: much faster than megabytes at once.
        cuts = [*range(start, end, CACHED), end]
        return sum(len(encode_part(self._raw[one:next_one], self.form)) for one, next_one in pairwise(cuts))

    def _in_raw_form(self, span: TextSpan, start: int, end: int) -> str:
        new = span.new
        if REPLACEMENT in new and self.form.errors == BYTE_TRANSPARENT:
            new = _with_stray_bytes(new, PLACEHOLDERS.findall(self._raw, start, end))
        if not self._has_returns:
            return new
        if self.form.newline is not None:
            return new.replace("\n", self.form.newline)
        # Imported only for files with mixed endings.
        from robota.workspace.text.line_endings import with_mixed_endings

        return with_mixed_endings(new, self._raw, start, end)


def common_prefix(one: str, other: str) -> int:
    """The length of the common prefix; by bisection, because a loop over megabytes is slow."""
    equal, most = 0, min(len(one), len(other))
    while equal < most:
        middle = (equal + most + 1) // 2
        if one[equal:middle] == other[equal:middle]:
            equal = middle
        else:
            most = middle - 1
    return equal


def common_suffix(one: str, other: str, most: int) -> int:
    """The length of the common suffix, at most `most`."""
    equal = 0
    while equal < most:
        middle = (equal + most + 1) // 2
        if one[len(one) - middle : len(one) - equal] == other[len(other) - middle : len(other) - equal]:
            equal = middle
        else:
            most = middle - 1
    return equal


def _with_stray_bytes(new: str, stood_for: list[str]) -> str:
    if new.count(REPLACEMENT) != len(stood_for):
        raise Unencodable(
            "The file contains bytes that are not text, shown as U+FFFD, and the new text has another number of them. "
            "Nothing was written. Edit only the text around them."
        )
    originals = iter(stood_for)
    return "".join(next(originals) if character == REPLACEMENT else character for character in new)
