"""A lock on a directory across processes, held from the last check of a file until it is replaced."""

import errno
import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from robota.config.durable_file import lock_in_time
from robota.workspace.problems import NotPermitted

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
    try:
        lock_in_time(descriptor)
    except BlockingIOError as error:
        raise NotPermitted(f"The directory: {error.strerror}. Nothing was changed. Try again.") from error
    except OSError as error:
        if error.errno in NO_LOCKS:
            return False
        raise
    return True
