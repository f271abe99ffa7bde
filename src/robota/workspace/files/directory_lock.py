"""A lock on a directory across processes, held from the last check of a file until it is replaced."""

import errno
import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager

from robota.workspace.problems import NotPermitted

MAX_WAIT_S = 10.0
PAUSE_S = 0.002
# Some network file systems have no locks; only the second check in `atomic_write` protects files there.
NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)


@contextmanager
def directory_lock(descriptor: int) -> Iterator[None]:
    """Hold the lock of an open directory; raise `NotPermitted` if another process holds it for too long."""
    is_held = _lock(descriptor)
    try:
        yield
    finally:
        if is_held:
            fcntl.flock(descriptor, fcntl.LOCK_UN)


def _lock(descriptor: int) -> bool:
    # Any program that can read the directory can also lock it, so the wait is limited.
    deadline = time.monotonic() + MAX_WAIT_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                message = (
                    f"Another program has locked the directory for {MAX_WAIT_S:.0f} s. Nothing was changed. Try again."
                )
                raise NotPermitted(message) from None
            time.sleep(PAUSE_S)
        except OSError as error:
            if error.errno in NO_LOCKS:
                return False
            raise
        else:
            return True
