"""Files that are no text but hold some: the lines of a PDF, a Word document, a spreadsheet or a notebook.

Each kind has a module of its own, loaded when such a file is read. They give lines one at a time, so that only as much
of a large document is worked through as is wanted.
"""

from collections.abc import Callable, Iterator
from pathlib import PurePath

import msgspec

LineReader = Callable[[bytes], Iterator[str]]

ZIP_START = b"PK\x03\x04"


class UnreadableDocument(Exception):
    """The file is damaged, encrypted or too large to be opened."""


class Document(msgspec.Struct, frozen=True, kw_only=True):
    kind: str
    lines: Iterator[str]


def open_document(path: str, data: bytes) -> Document | None:
    """None if the file is not of a kind known here, and so is to be read as what it is."""
    suffix = PurePath(path).suffix.lower()
    if data.startswith(b"%PDF-"):
        return Document(kind="PDF", lines=_pdf()(data))
    if suffix == ".docx" and data.startswith(ZIP_START):
        return Document(kind="Word document", lines=_docx()(data))
    if suffix in {".xlsx", ".xlsm"} and data.startswith(ZIP_START):
        return Document(kind="spreadsheet", lines=_xlsx()(data))
    if suffix == ".ipynb":
        lines = _notebook()(data)
        return None if lines is None else Document(kind="notebook", lines=lines)
    return None


def _pdf() -> LineReader:
    from robota.tools.documents.pdf import pdf_lines

    return pdf_lines


def _docx() -> LineReader:
    from robota.tools.documents.docx import docx_lines

    return docx_lines


def _xlsx() -> LineReader:
    from robota.tools.documents.xlsx import xlsx_lines

    return xlsx_lines


def _notebook() -> Callable[[bytes], Iterator[str] | None]:
    from robota.tools.documents.notebook import notebook_lines

    return notebook_lines
