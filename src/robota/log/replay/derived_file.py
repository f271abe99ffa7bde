"""Files outside the workspace with data derived from a log: a header line, then JSON.

A file that was modified, or has another version, is ignored.
"""

from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import msgspec

from robota.config.durable_file import make_private_directory
from robota.log.artifacts import write_whole


class DerivedLabel(msgspec.Struct, frozen=True, kw_only=True):
    """The header line: the format, the digest of the rest, and the directory of the session."""

    format: str
    digest: str
    directory: str = ""


def read_derived(file: Path, wanted_format: str) -> bytes | None:
    """The content of the file, if it is intact and has this format."""
    try:
        with file.open("rb") as stream:
            label = msgspec.json.decode(stream.readline(), type=DerivedLabel)
            body = stream.read() if label.format == wanted_format else b""
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return body if label.format == wanted_format and label.digest == sha256(body).hexdigest() else None


def write_derived(file: Path, log: Path, file_format: str, body: bytes) -> bool:
    """Write the file; returns whether that worked. If not, an older file is unchanged."""
    directory = str(log.parent.resolve()).encode("utf-8", "replace").decode()
    label = DerivedLabel(format=file_format, digest=sha256(body).hexdigest(), directory=directory)
    try:
        make_private_directory(file.parent)
        write_whole(file, msgspec.json.encode(label) + b"\n", body)
    except OSError:
        return False
    return True


def drop_stale(directory: Path) -> None:
    """Remove the files of deleted sessions, because they contain parts of the conversation."""
    for file in directory.glob("*"):
        with suppress(OSError, msgspec.DecodeError):
            with file.open("rb") as stream:
                label = msgspec.json.decode(stream.readline(), type=DerivedLabel)
            if not Path(label.directory).exists():
                file.unlink()
