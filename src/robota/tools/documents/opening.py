"""Shared by the document readers: the error for unreadable documents, and opening ZIP-based ones."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from zipfile import BadZipFile, ZipFile, ZipInfo
from zlib import error as ZlibError

MAX_XML_BYTES = 64 * 1024 * 1024
# Images and the like are already compressed: only a high compression ratio can hide a huge document.
LARGE_RATIO = 10


class UnreadableDocument(Exception):
    """The file is damaged, encrypted or too large to open."""


@contextmanager
def opened_zip(data: bytes) -> Iterator[ZipFile]:
    """Open an Office document, unless its text would unpack to more than the limit."""
    try:
        with ZipFile(BytesIO(data)) as archive:
            size = sum(entry.file_size for entry in archive.infolist() if _counts(entry))
            if size > MAX_XML_BYTES:
                raise UnreadableDocument(f"its text unpacks to {size:,} bytes; the limit is {MAX_XML_BYTES:,}")
            yield archive
    except (BadZipFile, ZlibError, EOFError, KeyError, NotImplementedError) as error:
        raise UnreadableDocument(f"it is damaged ({error})") from error


def _counts(entry: ZipInfo) -> bool:
    """Any part may be referenced as a sheet, regardless of its name."""
    return entry.filename.endswith((".xml", ".rels")) or entry.file_size > LARGE_RATIO * entry.compress_size
