"""The text of a PDF, page by page."""

import logging
from collections.abc import Iterator
from io import BytesIO

from pypdf import PdfReader
from pypdf.errors import PyPdfError

from robota.tools.documents.opening import UnreadableDocument

# What the library raises on bytes that are not a valid PDF.
BROKEN = (PyPdfError, ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError, NotImplementedError)


def pdf_lines(data: bytes) -> Iterator[str]:
    """The lines of each page, each page preceded by a line with its number."""
    # Its warnings about odd files would appear in the user's terminal.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = PdfReader(BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise UnreadableDocument("it is protected by a password")
        count = len(reader.pages)
        for number in range(count):
            yield f"--- page {number + 1} of {count} ---"
            yield from (reader.pages[number].extract_text() or "(no text on this page)").split("\n")
    except BROKEN as error:
        raise UnreadableDocument(f"it is damaged ({error})") from error
