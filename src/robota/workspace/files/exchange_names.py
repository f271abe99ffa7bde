"""Two files in one directory change their names in one step, where the system can do that."""

import errno
import os
from collections.abc import Callable
from functools import cache

RENAME_EXCHANGE = 2
UNSUPPORTED = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)


def exchange_names(directory: int, one: str, other: str) -> bool:
    """Exchange them; False, and nothing done, if this system or file system cannot. `OSError` if one is missing."""
    call = _renameat2()
    if call is None:
        return False
    code = call(directory, os.fsencode(one), os.fsencode(other))
    if code in UNSUPPORTED:
        return False
    if code:
        raise OSError(code, os.strerror(code), other)
    return True


@cache
def _renameat2() -> Callable[[int, bytes, bytes], int] | None:
    """The function of the C library, which gives the number of the error or 0; None if there is no such function."""
    # Loading it takes longer than the whole of `robota --version`.
    import ctypes

    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is None:
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)

    def call(directory: int, one: bytes, other: bytes) -> int:
        return ctypes.get_errno() if function(directory, one, directory, other, RENAME_EXCHANGE) else 0

    return call
