"""One writer at a time in a directory, across processes: from the last look at a file until it is replaced."""

import errno
import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager

from robota.workspace.problems import NotPermitted

MAX_WAIT_S = 10.0
PAUSE_S = 0.002
# Some network file systems have no locks; the second look of `atomic_write` is all there is then.
NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)


@contextmanager
def directory_lock(descriptor: int) -> Iterator[None]:
    """Hold the lock of an open directory; `NotPermitted` if somebody else holds it for too long."""
    is_held = _locked(descriptor)
    try:
        yield
    finally:
        if is_held:
            fcntl.flock(descriptor, fcntl.LOCK_UN)


def _locked(descriptor: int) -> bool:
    # Any program that may read the directory can lock it too, so nobody waits without an end.
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
