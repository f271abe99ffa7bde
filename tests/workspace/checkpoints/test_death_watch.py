"""A process that Robota waits for does not outlive it, even if Robota is killed."""

import os
import subprocess
import sys

import pytest

WAITING = """
import os, subprocess, sys
from robota.workspace.checkpoints.death_watch import killed_with_us
child = subprocess.Popen(["sleep", "1000"], start_new_session=True, pass_fds=[int(sys.argv[1])])
with killed_with_us(child.pid):
    print(child.pid, flush=True)
    if sys.argv[2] == "killed":
        sys.stdin.read()
child.kill() if child.poll() is None else sys.exit("it was killed")
"""


@pytest.mark.parametrize("end", ["killed", "over"])
def test_it_is_killed_with_robota_and_only_then(end: str) -> None:
    read_end, write_end = os.pipe()
    command = [sys.executable, "-c", WAITING, str(write_end), end]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[write_end]) as robota:
        os.close(write_end)
        assert robota.stdout is not None
        robota.stdout.readline()
        if end == "killed":
            robota.kill()
    # The sleeping process has the other end of this pipe open as long as it lives.
    assert os.read(read_end, 1) == b""
    os.close(read_end)
    assert robota.returncode == (-9 if end == "killed" else 0)
