"""The files of the page: a fixed list, so that a request can name nothing else."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

DIRECTORY: Final = Path(__file__).with_name("site")
MEDIA_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}


class SiteFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file as it is sent."""

    content: bytes
    media_type: str
    etag: str


def _read(path: Path) -> SiteFile:
    content = path.read_bytes()
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    return SiteFile(content=content, media_type=MEDIA_TYPES[path.suffix], etag=etag)


SITE: Final[Mapping[str, SiteFile]] = {
    path.relative_to(DIRECTORY).as_posix(): _read(path)
    for path in sorted(DIRECTORY.rglob("*"))
    if path.suffix in MEDIA_TYPES
}
PAGE: Final = SITE["index.html"]
