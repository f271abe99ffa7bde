"""What the readers of documents share: the error for one that cannot be read, and opening one that is a ZIP file."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from zipfile import BadZipFile, ZipFile
from zlib import error as ZlibError

MAX_XML_BYTES = 64 * 1024 * 1024  # pictures and the like are never unpacked


class UnreadableDocument(Exception):
    """The file is damaged, encrypted or too large to be opened."""


@contextmanager
def opened_zip(data: bytes) -> Iterator[ZipFile]:
    """An Office document, unless it would unpack to far more than it seems."""
    try:
        with ZipFile(BytesIO(data)) as archive:
            size = sum(entry.file_size for entry in archive.infolist() if entry.filename.endswith((".xml", ".rels")))
            if size > MAX_XML_BYTES:
                raise UnreadableDocument(f"its text unpacks to {size:,} bytes; the limit is {MAX_XML_BYTES:,}")
            yield archive
    except (BadZipFile, ZlibError, EOFError, KeyError, NotImplementedError) as error:
        raise UnreadableDocument(f"it is damaged ({error})") from error
