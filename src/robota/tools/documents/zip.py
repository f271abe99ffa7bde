"""Office documents are ZIP files. One that would unpack to far more than it seems is refused before it is opened."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from zipfile import BadZipFile, ZipFile
from zlib import error as ZlibError

from robota.tools.documents.document import UnreadableDocument

MAX_XML_BYTES = 64 * 1024 * 1024  # pictures and the like are never unpacked


@contextmanager
def opened_zip(data: bytes) -> Iterator[ZipFile]:
    try:
        with ZipFile(BytesIO(data)) as archive:
            size = sum(entry.file_size for entry in archive.infolist() if entry.filename.endswith((".xml", ".rels")))
            if size > MAX_XML_BYTES:
                raise UnreadableDocument(f"its text unpacks to {size:,} bytes; the limit is {MAX_XML_BYTES:,}")
            yield archive
    except (BadZipFile, ZlibError, EOFError, KeyError, NotImplementedError) as error:
        raise UnreadableDocument(f"it is damaged ({error})") from error
