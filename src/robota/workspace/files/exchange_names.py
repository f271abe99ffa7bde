"""Exchange the names of two files atomically, on systems that support it."""

import errno
import os
from collections.abc import Callable
from functools import cache

RENAME_EXCHANGE = 2
UNSUPPORTED = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EXDEV)


def exchange_names(directory: int, one: str, other: str, other_directory: int | None = None) -> bool:
    """Exchange two files in open directories; both are in `directory` unless `other_directory` is given.

    Returns False, with nothing done, if the system or file system does not support it. `OSError` if one is missing.
    """
    call = _renameat2()
    if call is None:
        return False
    target = directory if other_directory is None else other_directory
    code = call(directory, os.fsencode(one), target, os.fsencode(other))
    if code in UNSUPPORTED:
        return False
    if code:
        raise OSError(code, os.strerror(code), other)
    return True


@cache
def _renameat2() -> Callable[[int, bytes, int, bytes], int] | None:
    """`renameat2` of the C library, wrapped to return an errno or 0; None if the library does not have it."""
    # Importing ctypes takes longer than all of `robota --version`.
    import ctypes

    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is None:
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)

    def call(source: int, name: bytes, target: int, new_name: bytes) -> int:
        return ctypes.get_errno() if function(source, name, target, new_name, RENAME_EXCHANGE) else 0

    return call
