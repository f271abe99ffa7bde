"""Copy what a command stored by content hash (git's loose objects, files of git-lfs) after verifying each of them."""

import hashlib
import os
import re
import secrets
import stat
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Final

from robota.workspace.git.plain_directory import FILE_FLAGS, PlainDirectory, require_plain

FAN_OUT: Final = re.compile(r"[0-9a-f]{2}")
REST_OF_NAME: Final = re.compile(r"[0-9a-f]{38}|[0-9a-f]{62}")
LFS_NAME: Final = re.compile(r"[0-9a-f]{64}")
LFS_FILES: Final = "objects"
# git-lfs removes what is left over here.
LFS_DRAFTS: Final = "tmp"
READ_ONLY: Final = 0o444
PIECE: Final = 1 << 20
MAX_UNPACKED_BYTES: Final = 4 << 30  # for all objects of one command together
MAX_LFS_BYTES: Final = 16 << 30  # likewise
WRONG_NAME: Final = "the object {} is not what its name says"

# Copies a stream to another one and returns its size. Raises `BadObject` unless the content has this name.
Verify = Callable[[IO[bytes], IO[bytes], str, int], int]


class BadObject(ValueError):
    """A file among the objects does not match its hash, or is not an object."""


def take_objects(source: PlainDirectory, store: PlainDirectory) -> None:
    """Copy all loose objects into the store. Raises `BadObject`, `UnsafeEntry` or `OSError`."""
    left = MAX_UNPACKED_BYTES
    for directory, fan_out, name in _objects(source):
        with store.directory(fan_out, make=True) as target:
            if target.status(name) is None:
                # git uses this prefix for its own temporary files, and removes leftover ones.
                draft = (target, f"tmp_obj_{secrets.token_hex(6)}")
                left -= _take(directory, name, draft, target, _unpacked, fan_out + name, left)


def take_lfs_files(source: PlainDirectory, store: PlainDirectory) -> None:
    """Copy all files that git-lfs stored. Raises `BadObject`, `UnsafeEntry` or `OSError`."""
    left = MAX_LFS_BYTES
    for directory, fan_out, name in _lfs_files(source):
        with (
            store.directory(f"{LFS_FILES}/{fan_out}", make=True) as target,
            store.directory(LFS_DRAFTS, make=True) as drafts,
        ):
            if target.status(name) is None:
                draft = (drafts, f"{name}-{secrets.token_hex(6)}")
                left -= _take(directory, name, draft, target, _hashed, name, left)


def _take(
    directory: PlainDirectory,
    name: str,
    draft: tuple[PlainDirectory, str],
    target: PlainDirectory,
    verify: Verify,
    hashed: str,
    most: int,
) -> int:
    """Copy one file, verifying what is copied, and return its size."""
    drafts, temporary = draft
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(name, FILE_FLAGS, dir_fd=directory.descriptor), "rb") as stream:
        require_plain(name, os.fstat(stream.fileno()), directory=False)
        with os.fdopen(os.open(temporary, flags, READ_ONLY, dir_fd=drafts.descriptor), "wb") as copy:
            try:
                size = verify(stream, copy, hashed, most)
                copy.flush()
                os.rename(temporary, name, src_dir_fd=drafts.descriptor, dst_dir_fd=target.descriptor)
            except BaseException:
                os.unlink(temporary, dir_fd=drafts.descriptor)
                raise
    return size


def _objects(source: PlainDirectory) -> Iterator[tuple[PlainDirectory, str, str]]:
    """The directory, fan-out directory and name of each object."""
    for name, status in source.entries():
        if name == "pack" or FAN_OUT.fullmatch(name):
            require_plain(name, status)
            with source.directory(name) as directory:
                for entry, _ in directory.entries():
                    if name == "pack" and entry.endswith(".pack"):
                        raise BadObject("it wrote a pack of objects, which is not taken over")
                    if name != "pack" and REST_OF_NAME.fullmatch(entry):
                        yield directory, name, entry


def _lfs_files(source: PlainDirectory) -> Iterator[tuple[PlainDirectory, str, str]]:
    if source.status(LFS_FILES) is None:
        return
    for entry in source.tree(LFS_FILES):
        name = entry.name.rpartition("/")[2]
        if stat.S_ISREG(entry.status.st_mode) and LFS_NAME.fullmatch(name):
            yield entry.parent, f"{name[:2]}/{name[2:4]}", name


def _unpacked(stream: IO[bytes], copy: IO[bytes], name: str, most: int) -> int:
    """Verify an object and return its unpacked size. git trusts the names in its store, so a wrong one would spread."""
    digest = hashlib.sha1(usedforsecurity=False) if len(name) == 40 else hashlib.sha256()
    unpack, length = zlib.decompressobj(), 0
    try:
        while piece := stream.read(PIECE):
            copy.write(piece)
            data = unpack.decompress(piece, PIECE)
            while data:
                digest.update(data)
                length += len(data)
                if length > most:
                    raise BadObject(f"the objects are larger than {MAX_UNPACKED_BYTES >> 30} GiB")
                data = unpack.decompress(unpack.unconsumed_tail, PIECE)
            if unpack.unused_data:
                raise BadObject(WRONG_NAME.format(name))
    except zlib.error as error:
        raise BadObject(f"the object {name} cannot be unpacked") from error
    if not unpack.eof or digest.hexdigest() != name:
        raise BadObject(WRONG_NAME.format(name))
    return length


def _hashed(stream: IO[bytes], copy: IO[bytes], name: str, most: int) -> int:
    digest, length = hashlib.sha256(), 0
    while piece := stream.read(PIECE):
        digest.update(piece)
        length += len(piece)
        if length > most:
            raise BadObject(f"the files of git-lfs are larger than {MAX_LFS_BYTES >> 30} GiB")
        copy.write(piece)
    if digest.hexdigest() != name:
        raise BadObject(WRONG_NAME.format(name))
    return length
