"""S16: whatever a command of up to 100,000 characters holds, it is judged at once or denied."""

import os
from pathlib import Path

import pytest

from robota.contracts.verdict import Decision
from robota.policy.protected.path_resolver import MOST_STEPS, PathResolver, TooMuchWork, Work
from robota.workspace.shell.expansion import ANYTHING, files_matching
from robota.workspace.shell.reading import MAX_CHARACTERS
from tests.policy.judging import judge

REPEATED = (
    *(" a*", "[a-", "[", "*", "*a", "?", "*/", "a/", "../", "/", "~/a ", ">a ", "<a ", "2>&1 ", "''", '"a" ', "\\a"),
    *("a ", "a;", "a|", "a\n", "a && ", "a & ", "cd a;", "env ", "timeout 5 ", "xargs ", "!", "! ", "#a\n", "\n", ";;"),
    *("(", "{", "{a,b}", "a{b", "$(a ", "$(a)", "`a` ", "$a ", "a=1 ", "a=(", "${a", "<<A\n", "<(a) ", "$((1+", "$'a'"),
    *("if a; then b; fi; ", "for i in a; do b; done; ", "case a in b) c;; esac; ", "f(){ a;}; ", "=~ ", "[[ ", "é"),
    *("=", ":a", ",a", "@", "a=b,", "git -x ", " -name a", "rm -rf $x; ", "\"'", ">>", "\u3164"),
)
NUMBERED = ("f{}", "d{}/e/f", "x{}*", ">w{}", "rm x{};", "cd d{};", "v{}=a;", "--a{}=b", "-x{}", "[a]{}", "~/x{}")
BEGINNINGS = ("cat ", "x=1; ")


@pytest.fixture(scope="module")
def resolver(tmp_path_factory: pytest.TempPathFactory) -> PathResolver:
    root = tmp_path_factory.mktemp("workspace")
    for number in range(300):
        (root / f"a{number}.txt").touch()
    return PathResolver(root=root, home=root.parent, real=os.path.realpath, matching=files_matching)


@pytest.mark.parametrize("unit", [*REPEATED, *NUMBERED])
def test_S16_no_command_takes_long_to_judge(unit: str, resolver: PathResolver) -> None:
    """What takes time that grows with the square of the length does not come back within the limit of a test."""
    count = MAX_CHARACTERS // len(unit)
    text = " ".join(unit.format(number) for number in range(count)) if unit in NUMBERED else unit * count
    for beginning in BEGINNINGS:
        command = f"{beginning}{text}"[:MAX_CHARACTERS]
        judge(command, resolver=resolver, deny=["Read(secrets/**)", "Bash(git push *)", "Edit(x/*y*/**)"])


def test_S16_a_command_that_names_too_much_is_denied(resolver: PathResolver) -> None:
    verdict = judge("cat " + " ".join(f"f{number}" for number in range(3_000)), resolver=resolver)
    assert verdict.decision is Decision.DENY and "smaller steps" in verdict.reason
    assert judge("cat " + " ".join(f"f{number}" for number in range(300)), resolver=resolver).decision is Decision.ALLOW
    assert judge("a " * 5_000, "bypassPermissions").decision is Decision.DENY


def test_S16_a_long_here_document_is_asked_about_where_nothing_is_denied(resolver: PathResolver) -> None:
    command = "cat > out <<E\n" + " ".join(f"word{number}/x" for number in range(5_000)) + "\nE"
    assert judge(command, resolver=resolver).decision is Decision.ASK
    assert judge(command, resolver=resolver, allow=["Bash"]).decision is Decision.DENY
    assert judge(command, resolver=resolver, deny=["Read(secrets/**)"]).decision is Decision.DENY


def test_S16_steps_are_counted_and_not_the_time() -> None:
    work = Work()
    work.spend(MOST_STEPS)
    with pytest.raises(TooMuchWork):
        work.spend(1)


def test_S16_a_pattern_that_is_too_strange_may_mean_anything(tmp_path: Path) -> None:
    assert files_matching(str(tmp_path), "[a-" * 2_000) == ANYTHING
    assert files_matching(str(tmp_path), "[a]" * 100) == ANYTHING
