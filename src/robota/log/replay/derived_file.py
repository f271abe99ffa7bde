"""Files outside the workspace that hold what was made of a log: a line that says what they are, then JSON.

One that was changed, or is of another version, does not count.
"""

from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import msgspec

from robota.config.durable_file import make_private_directory
from robota.log.artifacts import write_whole


class DerivedLabel(msgspec.Struct, frozen=True, kw_only=True):
    """The first line: which format it is, the digest of the rest, and the directory of the session."""

    format: str
    digest: str
    directory: str = ""


def read_derived(file: Path, wanted_format: str) -> bytes | None:
    """What is in the file, if it is whole and of this format."""
    try:
        with file.open("rb") as stream:
            label = msgspec.json.decode(stream.readline(), type=DerivedLabel)
            body = stream.read() if label.format == wanted_format else b""
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return body if label.format == wanted_format and label.digest == sha256(body).hexdigest() else None


def write_derived(file: Path, log: Path, file_format: str, body: bytes) -> bool:
    """Whether it could be written. If not, an older one stays as it was."""
    directory = str(log.parent.resolve()).encode("utf-8", "replace").decode()
    label = DerivedLabel(format=file_format, digest=sha256(body).hexdigest(), directory=directory)
    try:
        make_private_directory(file.parent)
        write_whole(file, msgspec.json.encode(label) + b"\n", body)
    except OSError:
        return False
    return True


def drop_stale(directory: Path) -> None:
    """Remove the files of sessions that are gone, with what of their conversation is in them."""
    for file in directory.glob("*"):
        with suppress(OSError, msgspec.DecodeError):
            with file.open("rb") as stream:
                label = msgspec.json.decode(stream.readline(), type=DerivedLabel)
            if not Path(label.directory).exists():
                file.unlink()
