"""Parses the `*** Begin Patch` format into file operations, or reports an error with the line."""

import re
from collections.abc import Iterator, Sequence

import msgspec

BEGIN = "*** Begin Patch"
END = "*** End Patch"
ADD = "*** Add File:"
DELETE = "*** Delete File:"
UPDATE = "*** Update File:"
MOVE = "*** Move to:"
END_OF_FILE = "*** End of File"

HEREDOC = re.compile(r"(?:apply_patch\s+)?<<-?\s*(['\"]?)(\w+)\1")
# Models trained on other diffs write line ranges into the header of a chunk; these are not text to search for.
LINE_RANGE = re.compile(r"-\d+(?:,\d+)? \+\d+(?:,\d+)? @@ ?")
NAMED_PATH = re.compile(r"\s*\*\*\* (?:Add File|Delete File|Update File|Move to):(.*)")


class PatchLine(msgspec.Struct, frozen=True, kw_only=True):
    """`mark` is a space for a context line, `-` for a removed line and `+` for an added line."""

    mark: str
    text: str


class Chunk(msgspec.Struct, frozen=True, kw_only=True):
    """One change. `contexts` are the lines after `@@`, outermost first; `number` counts from 1 within the file.

    The last `spare_blanks` lines are blank context: either lines of the file, or only spacing before what follows.
    """

    number: int
    contexts: tuple[str, ...]
    lines: tuple[PatchLine, ...]
    at_end: bool = False
    spare_blanks: int = 0


class AddFile(msgspec.Struct, frozen=True, kw_only=True):
    """Create a file."""

    path: str
    lines: tuple[str, ...]


class DeleteFile(msgspec.Struct, frozen=True, kw_only=True):
    """Delete a file."""

    path: str


class UpdateFile(msgspec.Struct, frozen=True, kw_only=True):
    """Change a file, and move it to `move_to` if that is set."""

    path: str
    chunks: tuple[Chunk, ...]
    move_to: str | None = None


Operation = AddFile | DeleteFile | UpdateFile


class BadPatch(Exception):
    """The patch cannot be parsed. The text is written for the model."""


def read_patch(patch: str) -> tuple[Operation, ...]:
    """Parse the operations of a patch, in order."""
    lines = _without_heredoc(patch.replace("\r\n", "\n").strip("\n \t").split("\n"))
    if lines[0].strip() != BEGIN:
        raise BadPatch(f"The first line of the patch must be '{BEGIN}', not {lines[0]!r}.{_UNTOUCHED}")
    if lines[-1].strip() != END:
        raise BadPatch(f"The last line of the patch must be '{END}', not {lines[-1]!r}.{_UNTOUCHED}")
    operations = tuple(_PatchReader(lines[:-1]).operations())
    if not operations:
        raise BadPatch(f"The patch names no file.{_UNTOUCHED}")
    return operations


def paths_named(patch: str) -> tuple[str, ...]:
    """Every path in a patch, even if the patch cannot be parsed completely."""
    matches = (NAMED_PATH.fullmatch(line) for line in patch.replace("\r\n", "\n").split("\n"))
    return tuple(dict.fromkeys(match[1].strip() for match in matches if match and match[1].strip()))


def paths_of(operation: Operation) -> tuple[str, ...]:
    """The paths of one operation."""
    if isinstance(operation, UpdateFile) and operation.move_to is not None:
        return (operation.path, operation.move_to)
    return (operation.path,)


_UNTOUCHED = " Nothing was changed. Give the whole patch again."


def _without_heredoc(lines: list[str]) -> list[str]:
    start = HEREDOC.fullmatch(lines[0].strip())
    if start and len(lines) > 2 and lines[-1].strip() == start[2]:
        return "\n".join(lines[1:-1]).strip("\n \t").split("\n")
    return lines


class _PatchReader:
    """Parses the lines in one pass; `_at` is the next line."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._at = 1  # after the first line, which was checked

    def operations(self) -> Iterator[Operation]:
        while self._skip_blank():
            # Only headers can appear between sections, so they may be indented here.
            header = self._next().lstrip()
            if header.startswith(ADD):
                yield self._added(self._path(header, ADD))
            elif header.startswith(DELETE):
                yield DeleteFile(path=self._path(header, DELETE))
            elif header.startswith(UPDATE):
                yield self._updated(self._path(header, UPDATE))
            else:
                raise self._error(f"Expected '{ADD} path', '{DELETE} path' or '{UPDATE} path'", back=1)

    def _added(self, path: str) -> AddFile:
        lines: list[str] = []
        while (line := self._peek()) is not None and line.startswith("+"):
            lines.append(self._next()[1:])
        if self._skip_blank() and not (self._peek() or "").lstrip().startswith("***"):
            raise self._error("Every line of a new file begins with '+', blank lines too")
        return AddFile(path=path, lines=tuple(lines))

    def _updated(self, path: str) -> UpdateFile:
        move_to = None
        if (line := self._peek()) is not None and line.startswith(MOVE):
            move_to = self._path(self._next(), MOVE)
        chunks: list[Chunk] = []
        while self._skip_blank() and not self._at_header():
            chunks.append(self._chunk(len(chunks) + 1))
        if not chunks and move_to is None:
            raise self._error(f"The update of {path!r} contains no change")
        return UpdateFile(path=path, chunks=tuple(chunks), move_to=move_to)

    def _chunk(self, number: int) -> Chunk:
        contexts = tuple(self._contexts())
        if not contexts and number > 1:
            raise self._error("A further change in a file begins with '@@'")
        lines = list(self._chunk_lines())
        if not lines:
            raise self._error("Expected lines that begin with ' ' (unchanged), '-' (removed) or '+' (added)")
        at_end = (line := self._peek()) is not None and line.rstrip() == END_OF_FILE
        if at_end:
            self._next()
        spare = next((count for count, line in enumerate(reversed(lines)) if line.strip()), len(lines))
        return Chunk(
            number=number,
            contexts=tuple(context for context in contexts if context.strip()),
            lines=tuple(PatchLine(mark=line[:1] or " ", text=line[1:]) for line in lines),
            at_end=at_end,
            spare_blanks=spare,
        )

    def _contexts(self) -> Iterator[str]:
        while (line := self._peek()) is not None and (line.startswith("@@ ") or line.rstrip() == "@@"):
            yield LINE_RANGE.sub("", self._next()[3:], count=1)

    def _chunk_lines(self) -> Iterator[str]:
        while (line := self._peek()) is not None and (line == "" or line[0] in " +-"):
            yield self._next()

    def _path(self, header: str, mark: str) -> str:
        path = header.removeprefix(mark).strip()
        if not path:
            raise self._error(f"'{mark}' names no path", back=1)
        return path

    def _peek(self) -> str | None:
        return self._lines[self._at] if self._at < len(self._lines) else None

    def _at_header(self) -> bool:
        """A header starts in the first column; after a space it would be a context line."""
        return (self._peek() or "").startswith("***")

    def _next(self) -> str:
        self._at += 1
        return self._lines[self._at - 1]

    def _skip_blank(self) -> bool:
        """Whether anything is left after blank lines."""
        while (line := self._peek()) is not None and not line.strip():
            self._at += 1
        return self._peek() is not None

    def _error(self, problem: str, back: int = 0) -> BadPatch:
        at = self._at - back
        line = repr(self._lines[at]) if at < len(self._lines) else "the end of the patch"
        return BadPatch(f"{problem}; line {at + 1} of the patch is {line}.{_UNTOUCHED}")
