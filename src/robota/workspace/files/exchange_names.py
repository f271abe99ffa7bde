"""Renaming as `rename` cannot do it: two files exchange their names, or one moves only where nothing is yet."""

import errno
import os
from collections.abc import Callable
from functools import cache

RENAME_NOREPLACE, RENAME_EXCHANGE = 1, 2
CURRENT_DIRECTORY = -100
UNSUPPORTED = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EXDEV)


def exchange_names(directory: int, one: str, other: str, other_directory: int | None = None) -> bool:
    """Exchange two files in open directories; the second is in the same one unless `other_directory` is given.

    False, and nothing done, if this system or file system cannot. `OSError` if one is missing.
    """
    return _rename(directory, one, directory if other_directory is None else other_directory, other, RENAME_EXCHANGE)


def move_to_free_name(source: int | None, name: str, target: int | None, new_name: str) -> bool:
    """Move it from one open directory (or None for a path) to another; False, and nothing done, if that cannot be.

    `OSError` if it is missing or something has the new name, even an empty directory, which `rename` would replace.
    """
    source, target = (CURRENT_DIRECTORY if place is None else place for place in (source, target))
    return _rename(source, name, target, new_name, RENAME_NOREPLACE)


def _rename(source: int, name: str, target: int, new_name: str, how: int) -> bool:
    call = _renameat2()
    if call is None:
        return False
    code = call(source, os.fsencode(name), target, os.fsencode(new_name), how)
    if code in UNSUPPORTED:
        return False
    if code:
        raise OSError(code, os.strerror(code), new_name)
    return True


@cache
def _renameat2() -> Callable[[int, bytes, int, bytes, int], int] | None:
    """The function of the C library, which gives the number of the error or 0; None if there is no such function."""
    # Loading it takes longer than the whole of `robota --version`.
    import ctypes

    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is None:
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)

    def call(source: int, name: bytes, target: int, new_name: bytes, how: int) -> int:
        return ctypes.get_errno() if function(source, name, target, new_name, how) else 0

    return call
