"""What the readers of documents share: the error for one that cannot be read, and opening one that is a ZIP file."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from zipfile import BadZipFile, ZipFile, ZipInfo
from zlib import error as ZlibError

MAX_XML_BYTES = 64 * 1024 * 1024
# Pictures and the like are packed already: only what shrank a lot can become much more than it seems.
LARGE_RATIO = 10


class UnreadableDocument(Exception):
    """The file is damaged, encrypted or too large to be opened."""


@contextmanager
def opened_zip(data: bytes) -> Iterator[ZipFile]:
    """An Office document, unless it would unpack to far more than it seems."""
    try:
        with ZipFile(BytesIO(data)) as archive:
            size = sum(entry.file_size for entry in archive.infolist() if _counts(entry))
            if size > MAX_XML_BYTES:
                raise UnreadableDocument(f"its text unpacks to {size:,} bytes; the limit is {MAX_XML_BYTES:,}")
            yield archive
    except (BadZipFile, ZlibError, EOFError, KeyError, NotImplementedError) as error:
        raise UnreadableDocument(f"it is damaged ({error})") from error


def _counts(entry: ZipInfo) -> bool:
    """Any part can be named as a sheet by another, whatever it is called."""
    return entry.filename.endswith((".xml", ".rels")) or entry.file_size > LARGE_RATIO * entry.compress_size
