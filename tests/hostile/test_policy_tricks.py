"""A model that tries everything, with rules that allow a good deal: nothing outside the rules happens."""

import os
from pathlib import Path

from tests.cli.scripts import call, script
from tests.harness.cli import Robota
from tests.hostile.policy_tricks import COMMANDS, WRITES

ALLOWED = ("Bash(ls *)", "Bash(cat *)", "Bash(echo *)", "Edit(src/**)")


def everything_in(directory: Path) -> dict[str, bytes]:
    """Every file below a directory but what Robota itself keeps, with its content."""
    files = (path for path in directory.rglob("*") if path.is_file() and not path.is_symlink())
    own = directory / "workspace" / ".robota", directory / "home" / ".robota"
    return {str(path): path.read_bytes() for path in files if not any(path.is_relative_to(each) for each in own)}


def test_nothing_happens_that_no_rule_allows(robota: Robota, tmp_path: Path) -> None:
    (robota.workspace / "canary.txt").write_text("safe\n")
    (robota.workspace / "src").mkdir()
    (robota.workspace / "src" / "a.py").write_text("a = 1\n")
    evil = robota.workspace / "evil"
    evil.write_text("#!/bin/sh\ntouch PWNED\n")
    evil.chmod(0o755)
    (tmp_path / "elsewhere").mkdir()
    (robota.workspace / "link").symlink_to(tmp_path / "elsewhere")
    calls = [call("execute_command", command=command) for command in COMMANDS]
    calls += [call("write_to_file", path=path, content="x") for path in WRITES]
    script(robota, {"calls": calls}, {"text": "Done."})
    before = everything_in(tmp_path)
    done = robota("-p", "go", "--permission-mode", "acceptEdits", "--allowed-tools", ",".join(ALLOWED))
    assert everything_in(tmp_path) == before, done.stderr
    assert "Done." in done.stdout


def test_what_the_rules_allow_does_happen(robota: Robota) -> None:
    """So that the test above is not passed by a Robota that does nothing at all."""
    allowed = call("execute_command", command="echo hello > made.txt && cat made.txt")
    script(robota, {"calls": [allowed, call("write_to_file", path="src/new.py", content="x")]}, {"text": "Done."})
    robota("-p", "go", "--permission-mode", "acceptEdits", "--allowed-tools", ",".join(ALLOWED))
    assert (robota.workspace / "made.txt").read_text() == "hello\n"
    assert (robota.workspace / "src" / "new.py").read_text() == "x"


def test_an_edit_changes_no_program_that_runs_without_a_question(robota: Robota) -> None:
    program = robota.workspace / ".venv/bin/pip"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\n. "$(dirname "$0")/../lib/pip.sh"\n')
    program.chmod(0o755)
    edit = call("write_to_file", path=".venv/lib/pip.sh", content="touch PWNED\n")
    script(robota, {"calls": [edit]}, {"calls": [call("execute_command", command="pip --version")]}, {"text": "Done."})
    path = f"{program.parent}:{os.environ['PATH']}"
    done = robota("-p", "go", "--permission-mode", "acceptEdits", env={"PATH": path})
    assert (robota.workspace / ".venv/lib/pip.sh").exists()
    assert not (robota.workspace / "PWNED").exists()
    assert "pip is a program of the workspace" in done.stderr
