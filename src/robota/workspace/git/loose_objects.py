"""Copy loose objects into the object store of a repository after verifying each against its hash."""

import hashlib
import os
import re
import secrets
import shutil
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

FAN_OUT: Final = re.compile(r"[0-9a-f]{2}")
REST_OF_NAME: Final = re.compile(r"[0-9a-f]{38}|[0-9a-f]{62}")
READ_ONLY: Final = 0o444
PIECE: Final = 1 << 20
MOST_UNPACKED: Final = 4 << 30  # for all objects of one command together


class BadObject(ValueError):
    """A file among the objects does not match its hash, or is not an object."""


def take_objects(source: Path, store: Path) -> int:
    """Copy all loose objects into the store; returns how many were new. Raises `BadObject` or `OSError`."""
    taken, left = 0, MOST_UNPACKED
    for file, fan_out in _objects(source):
        target = store / fan_out / file.name
        if target.exists():
            continue
        if not stat.S_ISREG(file.lstat().st_mode):
            raise BadObject(f"the object {file.name} is no file")
        target.parent.mkdir(exist_ok=True)
        # git uses this prefix for its own temporary files, and removes those that are left over.
        draft = target.with_name(f"tmp_obj_{secrets.token_hex(6)}")
        try:
            shutil.copyfile(file, draft, follow_symlinks=False)
            left -= _verify(draft, fan_out + file.name, left)
            draft.chmod(READ_ONLY)
            draft.rename(target)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        taken += 1
    return taken


def _objects(source: Path) -> Iterator[tuple[Path, str]]:
    for directory in os.scandir(source):
        if directory.name == "pack":
            if any(entry.name.endswith(".pack") for entry in os.scandir(directory.path)):
                raise BadObject("it wrote a pack of objects, which is not taken over")
        elif FAN_OUT.fullmatch(directory.name) and directory.is_dir(follow_symlinks=False):
            for entry in os.scandir(directory.path):
                if REST_OF_NAME.fullmatch(entry.name):
                    yield Path(entry.path), directory.name


def _verify(file: Path, name: str, most: int) -> int:
    """Verify an object and return its unpacked size. git trusts the names in its store, so a wrong one would spread."""
    digest = hashlib.sha1(usedforsecurity=False) if len(name) == 40 else hashlib.sha256()
    unpack, length = zlib.decompressobj(), 0
    try:
        with file.open("rb") as stream:
            while piece := stream.read(PIECE):
                data = unpack.decompress(piece, PIECE)
                while data:
                    digest.update(data)
                    length += len(data)
                    if length > most:
                        raise BadObject(f"the objects are larger than {MOST_UNPACKED >> 30} GiB")
                    data = unpack.decompress(unpack.unconsumed_tail, PIECE)
    except zlib.error as error:
        raise BadObject(f"the object {name} cannot be unpacked") from error
    if not unpack.eof or digest.hexdigest() != name:
        raise BadObject(f"the object {name} is not what its name says")
    return length
