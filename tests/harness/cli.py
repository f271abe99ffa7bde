"""The installed `robota` as a user runs it: a real process with a clean environment."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from tests.harness.forked_run import can_fork, read_at_start, run_forked

EXECUTABLE = Path(sys.executable).with_name("robota")
NETWORK_GUARD = Path(__file__).with_name("network_guard")
LONGEST_RUN_S = 300  # only a test that fails waits that long
# Set it to 0 to start a new interpreter for each run; that takes twice as long.
FORKS = os.environ.get("ROBOTA_TESTS_FORK", "1") != "0" and can_fork()


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """A process that has ended."""

    code: int
    stdout: str
    stderr: str


class Robota:
    """Call it with arguments; it runs in `workspace` with `home` as the user's home."""

    def __init__(self, workspace: Path, home: Path) -> None:
        self.workspace = workspace
        self.home = home

    def __call__(self, *arguments: str, stdin: str = "", env: Mapping[str, str] | None = None) -> Finished:
        clean = clean_environment(self.home)
        environment, command = {**clean, **(env or {})}, [str(EXECUTABLE), *arguments]
        if not FORKS or read_at_start(environment) != read_at_start(clean):
            return run(command, self.workspace, environment, stdin)
        code, out, err = run_forked(command, self.workspace, environment, stdin.encode(), LONGEST_RUN_S)
        return Finished(code=code, stdout=out.decode(), stderr=err.decode())

    def python(self, *arguments: str, env: Mapping[str, str] | None = None) -> Finished:
        """The same interpreter and environment, for looking inside a process."""
        environment = {**clean_environment(self.home), **(env or {})}
        return run([sys.executable, *arguments], self.workspace, environment, "")


def clean_environment(home: Path) -> dict[str, str]:
    """Nothing of the caller's but PATH, and what `make coverage` needs; no network but loopback."""
    return {
        **{name: value for name, value in os.environ.items() if name.startswith("COVERAGE_PROCESS")},
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "ROBOTA_HOME": str(home / ".robota"),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "PYTHONPATH": str(NETWORK_GUARD),
    }


def with_room_for(blocks: int, *command: str) -> list[str]:
    """The command where no file may grow beyond so many blocks of 1024 bytes, as on a disk that is full.

    Python would keep the half of a compiled module that it could write, and fail with it from then on.
    """
    return ["bash", "-c", f'ulimit -f {blocks}; PYTHONDONTWRITEBYTECODE=1 exec "$@"', "no-room", *command]


def run(command: list[str], cwd: Path, env: Mapping[str, str], stdin: str) -> Finished:
    done = subprocess.run(
        command, cwd=cwd, env=env, input=stdin.encode(), capture_output=True, timeout=LONGEST_RUN_S, check=False
    )
    return Finished(code=done.returncode, stdout=done.stdout.decode(), stderr=done.stderr.decode())
