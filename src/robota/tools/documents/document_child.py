"""Reads a document in a separate process, which runs this module with a format and the lines that are wanted."""

import sys
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Literal

import msgspec

from robota.tools.documents.opening import UnreadableDocument
from robota.workspace.process.python_child import ChildFailed, limit_this_process, run_module

TIMEOUT_S = 30.0

DocumentFormat = Literal["pdf", "docx", "xlsx"]


class DocumentText(msgspec.Struct, frozen=True, kw_only=True):
    """The first lines of a document, or why it cannot be read."""

    lines: list[str] = []
    problem: str = ""


class WantedLines(msgspec.Struct, frozen=True, kw_only=True):
    """The lines of a document from `first` to `last`, until `characters` are shown; of each, `shown_of_a_line`.

    Of a longer line `kept_of_a_line` are returned. The others are only counted: a cell of a few bytes can stand for a
    text of a megabyte in every row.
    """

    first: int
    last: int
    characters: int
    shown_of_a_line: int
    kept_of_a_line: int

    def of(self, lines: Iterator[str]) -> Iterator[str]:
        """The lines up to the last; those that are not wanted are empty."""
        room = self.characters
        for number, line in enumerate(islice(lines, self.last), 1):
            kept = line[: self.kept_of_a_line] if number >= self.first and room >= 0 else ""
            room -= min(len(kept), self.shown_of_a_line)
            yield kept


async def document_lines(kind: DocumentFormat, data: bytes, wanted: WantedLines) -> list[str]:
    """The first lines of a document. Raises `UnreadableDocument`, also if reading takes too much time or memory."""
    try:
        printed = await run_module(
            "robota.tools.documents.document_child",
            (kind, msgspec.json.encode(wanted).decode()),
            data,
            timeout_s=TIMEOUT_S,
        )
        text = msgspec.json.decode(printed, type=DocumentText)
    except (ChildFailed, msgspec.DecodeError) as error:
        raise UnreadableDocument(str(error)) from error
    if text.problem:
        raise UnreadableDocument(text.problem)
    return text.lines


def _read(kind: str, data: bytes, wanted: WantedLines) -> DocumentText:
    try:
        return DocumentText(lines=list(wanted.of(_reader(kind)(data))))
    except UnreadableDocument as error:
        return DocumentText(problem=str(error))
    except MemoryError:
        return DocumentText(problem="it needs too much memory")


def _reader(kind: str) -> Callable[[bytes], Iterator[str]]:
    # Each format needs a different library.
    if kind == "pdf":
        from robota.tools.documents.pdf import pdf_lines

        return pdf_lines
    if kind == "docx":
        from robota.tools.documents.docx import docx_lines

        return docx_lines
    from robota.tools.documents.xlsx import xlsx_lines

    return xlsx_lines


def _main() -> None:
    limit_this_process()
    text = _read(sys.argv[1], sys.stdin.buffer.read(), msgspec.json.decode(sys.argv[2], type=WantedLines))
    # A lone surrogate cannot be encoded.
    lines = [line.encode("utf-8", "replace").decode() for line in text.lines]
    sys.stdout.buffer.write(msgspec.json.encode(msgspec.structs.replace(text, lines=lines)))


if __name__ == "__main__":
    _main()
