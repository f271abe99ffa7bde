"""A machine on which no sandbox works: commands need approval, and the user is told why."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.scripts import call, script
from tests.harness.cli import EXECUTABLE, Finished, Robota, clean_environment, run

# Becomes a process whose kernel has no Landlock: system call 444 (landlock_create_ruleset) does not exist for it.
NO_LANDLOCK = """
import ctypes, os, struct, sys
rules = ((0x20, 0, 0, 0), (0x15, 0, 1, 444), (0x06, 0, 0, 0x00050000 | 38), (0x06, 0, 0, 0x7FFF0000))
code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *rule) for rule in rules))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, struct.pack("@HP", len(rules), ctypes.addressof(code)), 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""


class Bare:
    """`robota` without bubblewrap and without Landlock."""

    def __init__(self, robota: Robota, programs: Path) -> None:
        self.robota = robota
        self._programs = programs
        programs.mkdir()
        for name in ("git", "sh", "python3"):
            found = shutil.which(name)
            if found is not None:
                (programs / name).symlink_to(found)

    def __call__(self, *arguments: str) -> Finished:
        environment = {**clean_environment(self.robota.home), "PATH": str(self._programs)}
        command = [str(EXECUTABLE.with_name("python")), "-c", NO_LANDLOCK, str(EXECUTABLE), *arguments]
        return run(command, self.robota.workspace, environment, "")

    def events(self, *arguments: str) -> list[dict[str, Any]]:
        done = self("-p", "go", "--output-format", "stream-json", *arguments)
        return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def bare(robota: Robota, tmp_path: Path) -> Bare:
    script(robota, {"calls": [call("execute_command", command="ls")]}, {"text": "done"})
    return Bare(robota, tmp_path / "programs")


def test_nothing_runs_by_itself_and_the_user_is_told(bare: Bare) -> None:
    done = bare("-p", "go")
    assert "no sandbox is available" in done.stderr and "bubblewrap is not installed" in done.stderr
    assert "not allowed: Bash ls" in done.stderr


def test_a_rule_of_the_user_still_holds_and_clients_know(bare: Bare) -> None:
    lines = bare.events("--allowed-tools", "Bash(ls)")
    [told] = [line for line in lines if line.get("subtype") == "sandbox"]
    assert told["kind"] == "none" and "Landlock does not work here" in told["reason"]
    assert not [line for line in lines if line.get("subtype") == "permission_denied"]


def test_doctor_and_policy_say_the_same(bare: Bare) -> None:
    assert "none, because" in bare("doctor").stdout
    assert "No sandbox works" in bare("policy", "explain", "--", "ls").stdout
