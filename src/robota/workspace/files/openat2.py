"""Opening a directory beneath a root in one system call of Linux, which checks every step of the way itself."""

import ctypes
import errno
import os
import sys

from robota.workspace.files.confined_paths import DIRECTORY_FLAGS, DirectoryOpener, walk_to_directory

SYSTEM_CALL = 437  # the same number on every architecture that Linux gained since
RESOLVE_NO_MAGICLINKS = 0x02
RESOLVE_NO_SYMLINKS = 0x04
RESOLVE_BENEATH = 0x08
TRIES = 8


class OpenHow(ctypes.Structure):
    """`struct open_how` of linux/openat2.h."""

    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def best_opener() -> DirectoryOpener:
    """`openat2` where the kernel has it and a container does not forbid it, else a walk without following links."""
    if sys.platform != "linux":
        return walk_to_directory
    place = os.open("/", DIRECTORY_FLAGS)
    try:
        os.close(openat2(place, "."))
    except OSError:
        return walk_to_directory
    finally:
        os.close(place)
    return openat2_or_walk


def openat2_or_walk(root: int, relative: str) -> int:
    """The kernel gives up when names change under its feet; then the walk decides."""
    for _ in range(TRIES):
        try:
            return openat2(root, relative)
        except BlockingIOError:
            continue
    return walk_to_directory(root, relative)


def openat2(root: int, relative: str) -> int:
    """A descriptor of the directory; `OSError` if there is none or if a link or `..` leads to it."""
    how = OpenHow(DIRECTORY_FLAGS, 0, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS)
    path = os.fsencode(relative)
    descriptor: int = _LIBC.syscall(SYSTEM_CALL, root, path, ctypes.byref(how), ctypes.sizeof(how))
    if descriptor >= 0:
        return descriptor
    code = ctypes.get_errno()
    # A missing directory is told as everywhere else; `OSError` picks its own subclass by the code.
    raise OSError(code, os.strerror(code or errno.EIO), relative)


_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.syscall.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
_LIBC.syscall.restype = ctypes.c_long
