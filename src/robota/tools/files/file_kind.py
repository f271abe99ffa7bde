"""What a file holds besides plain text, by its first bytes and its name: an image, or a document with text in it."""

from collections.abc import Awaitable, Callable
from itertools import islice
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from robota.tools.documents.document_child import DocumentFormat

ZIP_START: Final = b"PK\x03\x04"
IMAGE_STARTS: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A document that is no text but holds some. `first_lines` gives so many of them, or all."""

    kind: str
    first_lines: Callable[[int], Awaitable[list[str]]]


def image_type(data: bytes) -> str | None:
    """The media type by the first bytes, whatever the file is called; None if it is no image that models take."""
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return next((media_type for start, media_type in IMAGE_STARTS if data.startswith(start)), None)


def open_document(path: str, data: bytes) -> Document | None:
    """None if the file is not of a kind known here, and so is to be read as what it is."""
    suffix = PurePath(path).suffix.lower()
    if data.startswith(b"%PDF-"):
        return _foreign("PDF", "pdf", data)
    if suffix == ".docx" and data.startswith(ZIP_START):
        return _foreign("Word document", "docx", data)
    if suffix in {".xlsx", ".xlsm"} and data.startswith(ZIP_START):
        return _foreign("spreadsheet", "xlsx", data)
    return _notebook(data) if suffix == ".ipynb" else None


def _foreign(kind: str, document_format: "DocumentFormat", data: bytes) -> Document:
    async def first_lines(most: int) -> list[str]:
        # Loaded with the first document.
        from robota.tools.documents.document_child import document_lines

        return await document_lines(document_format, data, most)

    return Document(kind=kind, first_lines=first_lines)


def _notebook(data: bytes) -> Document | None:
    from robota.tools.documents.notebook import notebook_lines

    lines = notebook_lines(data)
    if lines is None:
        return None

    async def first_lines(most: int) -> list[str]:
        return list(islice(lines, most))

    return Document(kind="notebook", first_lines=first_lines)
