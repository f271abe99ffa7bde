"""Shell commands in a guarded workspace: which files they write, and what of that needs a user."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.engine.stage import call
from tests.intents.project import INTENTS, SELECT, intents, results, told, traced


def ran(workspace: Path, command: str, **launch: Any) -> str:
    """What the model is told of a command, where nobody is asked."""
    return results(workspace, SELECT, call("execute_command", command=command), **launch)[1]


@pytest.fixture
def guarded(workspace: Path) -> Path:
    intents(workspace)
    (workspace / "src/auth/sub").mkdir(parents=True)
    (workspace / "src/auth/a.py").write_text("one\ntwo\n")
    (workspace / "other.txt").write_text("other\n")
    (workspace / "src/auth/link").symlink_to(workspace / "other.txt")
    return workspace


@pytest.mark.parametrize(
    "command",
    [
        "echo x > src/auth/b.py",
        "sed -i s/two/2/ src/auth/a.py",
        "touch src/auth/b.py src/auth/c.py",
        "cp other.txt src/auth/copy",
        "cp other.txt src/auth/sub",
        "mv src/auth/a.py src/auth/sub/",
        "rm -rf src/auth/sub",
        "mkdir -p src/auth/deep/er && touch src/auth/deep/er/x",
        "cat other.txt | tee src/auth/b.py",
        "cd src/auth && cat a.py",
    ],
)
def test_commands_that_write_only_what_the_intent_owns_need_no_user(guarded: Path, command: str) -> None:
    assert "REQ-" not in ran(guarded, command)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("echo x > README.md", "REQ-001"),
        ("echo x >> src/auth/link", "REQ-001"),
        ("cp src/auth/a.py other.txt", "REQ-001"),
        ("mv other.txt src/auth/", "REQ-001"),
        ("rm -rf src", "REQ-001"),
        ("sed -i s/a/b/ src/auth/a.py other.txt", "REQ-001"),
        ("cat src/auth/a.py | tee src/auth/b.py other.txt", "REQ-001"),
        ("cd src && touch auth/x", "REQ-001"),  # the cd may fail, and then it is another file
        ("touch src/auth/../x", "REQ-001"),
        ("sed -i 's/a/b/w other.txt' src/auth/a.py", "REQ-002"),
        ("mv src/auth/link src/auth/l && echo x > src/auth/l", "REQ-002"),
        ("ln other.txt src/auth/hard", "REQ-002"),
        ("ln -s ../../other.txt src/auth/soft", "REQ-002"),
        ("python3 -c 'print(1)'", "REQ-002"),
        ("git commit -m x", "REQ-002"),
        ("sh -c 'echo x > src/auth/b.py'", "REQ-002"),
        ("echo $(touch other2)", "REQ-002"),
        ("./rm src/auth/a.py", "REQ-002"),
        ("env touch src/auth/b.py", "REQ-002"),
        ("find . -name '*.py' -delete", "REQ-002"),
        ("git checkout -- other.txt", "REQ-001"),
        ("touch .orchestration/x", "REQ-001"),
        ('python3 -c \'open(".ORCHESTRATION/x", "w")\'', "REQ-001"),
    ],
)
def test_other_commands_do(guarded: Path, command: str, code: str) -> None:
    before = {path: path.read_bytes() for path in guarded.rglob("*") if path.is_file() and ".robota" not in path.parts}
    assert told(ran(guarded, command))["code"] == code
    after = {path: path.read_bytes() for path in guarded.rglob("*") if path.is_file() and ".robota" not in path.parts}
    assert before == after


def test_a_pattern_is_looked_up_and_each_of_its_files_must_be_owned(guarded: Path) -> None:
    (guarded / "src/auth/link").unlink()
    assert "REQ-" not in ran(guarded, "rm src/auth/*.py")
    assert told(ran(guarded, "rm src/*"))["code"] == "REQ-001"


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf src/auth/sub",
        "rm -rf src/auth/sub/keys",
        "mv src/auth/sub src/auth/moved",
        "git restore src/auth/sub",
        "mv src/auth/stage src/auth/late",
        "rm -rf src/auth/nested",
    ],
)
def test_a_directory_is_judged_by_what_is_in_it(guarded: Path, command: str) -> None:
    """What no intent may change cannot be deleted or moved with the directory it is in, or brought by one."""
    (guarded / ".orchestration/.intentignore").write_text("src/auth/sub/keys/\nsrc/auth/late/keys/\n")
    kept = ("sub/keys/key", "stage/keys/key", "nested/.orchestration/active_intents.yaml")
    for name in kept:
        (guarded / "src/auth" / name).parent.mkdir(parents=True)
        (guarded / "src/auth" / name).write_text("kept")
    said = told(ran(guarded, command))
    assert said["code"] == "REQ-001" and "only a user" in said["message"]
    assert all((guarded / "src/auth" / name).exists() for name in kept)
    assert "REQ-" not in ran(guarded, "rm -rf src/auth/stage")


def test_what_a_command_changed_is_traced(guarded: Path) -> None:
    ran(guarded, "sed -i s/two/2/ src/auth/a.py")
    [record] = traced(guarded)
    assert record["files"][0]["path"] == "src/auth/a.py"
    assert record["files"][0]["conversations"][0]["ranges"][0]["start_line"] == 2


def test_names_that_are_not_utf8_are_judged_and_traced(guarded: Path) -> None:
    for directory in (guarded / "src/auth/odd", guarded / "odd"):
        directory.mkdir()
        (directory / os.fsdecode(b"bad\xff.txt")).write_text("x")
    assert "Exit code: 0" in ran(guarded, "rm -rf src/auth/odd")
    [record] = traced(guarded)
    assert record["files"][0]["path"].startswith("src/auth/odd/bad")
    assert told(ran(guarded, "rm odd/*"))["code"] == "REQ-001"
    assert list((guarded / "odd").iterdir())


def test_the_commands_of_its_criteria_may_be_run_for_an_intent(guarded: Path) -> None:
    intents(guarded, INTENTS.replace("run: pytest -q tests/test_auth.py", "run: python3 -c 'print(6 * 7)'"))
    confined: dict[str, Any] = {"permission_mode": "default", "allowed_tools": ("Bash",)}
    assert "42" in ran(guarded, "python3 -c 'print(6 * 7)'", **confined)
    assert told(ran(guarded, "python3 -c 'print(6 * 8)'", **confined))["code"] == "REQ-002"
