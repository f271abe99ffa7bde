"""What a file holds besides plain text, by its first bytes and its name: an image, or a document with text in it."""

from collections.abc import Iterator
from pathlib import PurePath
from typing import Final

import msgspec

ZIP_START: Final = b"PK\x03\x04"
IMAGE_STARTS: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A document that is no text but holds some. Its lines come one at a time, as far as they are wanted."""

    kind: str
    lines: Iterator[str]


def image_type(data: bytes) -> str | None:
    """The media type by the first bytes, whatever the file is called; None if it is no image that models take."""
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for start, media_type in IMAGE_STARTS if data.startswith(start)), None)


def open_document(path: str, data: bytes) -> Document | None:
    """None if the file is not of a kind known here, and so is to be read as what it is."""
    # Each kind has a reader of its own, loaded when such a file is read.
    suffix = PurePath(path).suffix.lower()
    if data.startswith(b"%PDF-"):
        from robota.tools.documents.pdf import pdf_lines

        return Document(kind="PDF", lines=pdf_lines(data))
    if suffix == ".docx" and data.startswith(ZIP_START):
        from robota.tools.documents.docx import docx_lines

        return Document(kind="Word document", lines=docx_lines(data))
    if suffix in {".xlsx", ".xlsm"} and data.startswith(ZIP_START):
        from robota.tools.documents.xlsx import xlsx_lines

        return Document(kind="spreadsheet", lines=xlsx_lines(data))
    if suffix == ".ipynb":
        from robota.tools.documents.notebook import notebook_lines

        lines = notebook_lines(data)
        return None if lines is None else Document(kind="notebook", lines=lines)
    return None
