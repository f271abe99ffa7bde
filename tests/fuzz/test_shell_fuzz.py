"""A short look for commands that run more than was judged. `make fuzz` looks for longer."""

from pathlib import Path

import pytest

from tests.fuzz.shell_fuzz import check, look
from tests.fuzz.shell_oracle import ShellOracle

EXAMPLES = 700


def test_bash_runs_no_word_that_was_not_judged(tmp_path: Path) -> None:
    look(ShellOracle(tmp_path), EXAMPLES)


@pytest.mark.parametrize(
    "command",
    [
        "ls && time -la",
        "time [ab].py",
        "time x=1 evil",
        "ls *.py",
        "cat src/*.py ~/a",
        "echo a > out && cat out",
        "ls 2>&1 >| out",
        "find . -name '*.py' | sort",
        "git log # evil",
        "printf %n PATH; ls",
        "ls\n\n\nrm x",
        "timeout 5* ls",
        "printf %* PATH",
        "uniq -f 1*",
        "cd sub && timeout * ls",
    ],
)
def test_commands_that_once_were_or_could_be_misread(command: str, tmp_path: Path) -> None:
    check(ShellOracle(tmp_path), command)


def test_the_oracle_sees_what_runs(tmp_path: Path) -> None:
    ran = ShellOracle(tmp_path).run("x=1 ls $(evil a) *.py | eval b > out")
    assert set(ran.commands) == {("evil", "a"), ("ls", "a.py", "b.py"), ("eval", "b")}
    assert ran.created == {"home/workspace/out"}
