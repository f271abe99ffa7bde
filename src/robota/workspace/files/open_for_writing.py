"""Whether some program has a file open for writing: what it writes would be lost with a file that was replaced."""

import errno
import fcntl
import os
import signal
import time
from pathlib import Path

from robota.workspace.problems import NotPermitted

# As long as a program that saves a file keeps it open. One that appends to it all the time is not waited for.
MAX_WAIT_S = 0.5
PAUSE_S = 0.002
FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
# These give no lease for reasons of their own.
NETWORK = ("nfs", "cifs", "smb", "ceph", "9p", "afs", "fuse")


def wait_until_closed(directory: int, name: str) -> None:
    """Wait for whoever has the file open for writing; `NotPermitted` if they keep it open."""
    deadline = time.monotonic() + MAX_WAIT_S
    while is_open_for_writing(directory, name):
        if time.monotonic() > deadline:
            raise NotPermitted(
                f"Another program has {name!r} open for writing, and what it writes next would be lost. The file was "
                "left as it is. Stop that program, or change the file with a command that writes into it."
            )
        time.sleep(PAUSE_S)


def is_open_for_writing(directory: int, name: str) -> bool:
    """Whether any program has it open, or mapped, for writing. False where this system cannot tell."""
    if not hasattr(fcntl, "F_SETLEASE"):
        return False
    try:
        file = os.open(name, FLAGS, dir_fd=directory)
    except OSError:  # gone, a link, or not readable for us
        return False
    try:
        return _is_lease_refused(file) and not _is_on_network(os.fstat(file).st_dev)
    finally:
        os.close(file)


def _is_lease_refused(file: int) -> bool:
    """A lease for reading is given only where nobody writes. Closing the file gives it back."""
    try:
        # Who wants to write in this instant waits for us, and we are sent a signal: one that does nothing.
        fcntl.fcntl(file, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return error.errno == errno.EAGAIN
    return False


def _is_on_network(device: int) -> bool:
    wanted = f"{os.major(device)}:{os.minor(device)}"
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        kinds = [line.partition(" - ")[2] for line in mounts if line.split(" ", 3)[2] == wanted]
    except (OSError, IndexError):
        return False
    return any(kind.startswith(NETWORK) for kind in kinds)
