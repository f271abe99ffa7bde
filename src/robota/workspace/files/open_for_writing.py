"""Detect whether another program has a file open for writing, because its writes to a replaced file would be lost."""

import errno
import fcntl
import os
import signal
import time
from pathlib import Path

from robota.workspace.problems import NotPermitted

# Long enough for a program that is saving the file; one that keeps appending to it is not waited for.
MAX_WAIT_S = 0.5
PAUSE_S = 0.002
FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
# These file systems refuse leases for other reasons.
NETWORK = ("nfs", "cifs", "smb", "ceph", "9p", "afs", "fuse")


def wait_until_closed(directory: int, name: str) -> None:
    """Wait until no program has the file open for writing; raise `NotPermitted` if one keeps it open."""
    deadline = time.monotonic() + MAX_WAIT_S
    while is_open_for_writing(directory, name):
        if time.monotonic() > deadline:
            raise NotPermitted(
                f"Another program has {name!r} open for writing, and what it writes next would be lost. The file was "
                "not changed. Stop that program, or change the file with a command that writes into it."
            )
        time.sleep(PAUSE_S)


def is_open_for_writing(directory: int, name: str) -> bool:
    """Whether any program has the file open, or mapped, for writing. False where the system cannot report it."""
    if not hasattr(fcntl, "F_SETLEASE"):
        return False
    try:
        file = os.open(name, FLAGS, dir_fd=directory)
    except OSError:  # gone, a link, or not readable
        return False
    try:
        return _is_lease_refused(file) and not _is_on_network(os.fstat(file).st_dev)
    finally:
        os.close(file)


def _is_lease_refused(file: int) -> bool:
    """A read lease is granted only while the file is not open for writing. Closing the file releases it."""
    try:
        # A program that opens the file for writing now waits until we close it, and we get this signal, which is inert.
        fcntl.fcntl(file, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return error.errno == errno.EAGAIN
    return False


def _is_on_network(device: int) -> bool:
    device_number = f"{os.major(device)}:{os.minor(device)}"
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        kinds = [line.partition(" - ")[2] for line in mounts if line.split(" ", 3)[2] == device_number]
    except (OSError, IndexError):
        return False
    return any(kind.startswith(NETWORK) for kind in kinds)
