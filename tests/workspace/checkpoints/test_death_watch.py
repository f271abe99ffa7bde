"""A process that Robota waits for does not outlive it, even if Robota is killed."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from robota.workspace.checkpoints import private_git as private_git_module
from robota.workspace.checkpoints.private_git import make_git_directory, private_git

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


def test_a_git_that_takes_long_reads_all_of_its_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a large workspace, git is still reading the names when it begins to be watched."""
    monkeypatch.setattr(private_git_module, "UNWATCHED_S", 0.0)
    data = b"more than a pipe holds\n" * 100_000
    make_git_directory(tmp_path)
    printed = private_git(tmp_path, tmp_path, os.environ).run("hash-object", "--stdin", stdin=data)
    assert printed.decode().strip() == hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
