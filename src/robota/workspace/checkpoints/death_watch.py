"""Kill a process that we wait for if Robota dies meanwhile, by whatever signal."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from subprocess import DEVNULL
from typing import Final

from robota.workspace.outside_program import start_outside

# Its input ends when Robota does, and also if Robota was killed.
SCRIPT: Final = 'read -r line || kill -s KILL -- "-$1"'


@contextmanager
def killed_with_us(group: int) -> Iterator[None]:
    """While the context lasts, the process group is killed if this process ends."""
    read_end, write_end = os.pipe()
    try:
        watcher = start_outside(
            ["/bin/sh", "-c", SCRIPT, "robota-watch", str(group)],
            workspace=None,
            env={},
            stdin=read_end,
            stdout=DEVNULL,
            stderr=DEVNULL,
            start_new_session=True,
        )
    except OSError:
        os.close(write_end)
        raise
    finally:
        os.close(read_end)
    try:
        yield
    finally:
        with suppress(BrokenPipeError):
            os.write(write_end, b"over\n")
        os.close(write_end)
        watcher.wait()
