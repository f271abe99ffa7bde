"""The rules offered to a user: as narrow as can be, and they do stop the asking."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.contracts.verdict import Decision
from tests.policy.judging import judge, says, writing


@pytest.mark.parametrize(
    ("command", "exact", "prefix"),
    [
        ("npm test", ["Bash(npm test)"], ["Bash(npm test *)"]),
        ("pytest -q tests", ["Bash(pytest -q tests)"], ["Bash(pytest *)"]),
        ("git commit -m 'a b'", None, ["Bash(git commit *)"]),
        ("git push && npm test", ["Bash(git push)", "Bash(npm test)"], ["Bash(git push *)", "Bash(npm test *)"]),
        ("ls && npm test", ["Bash(npm test)"], ["Bash(npm test *)"]),
        ("timeout 5 pytest", ["Bash(timeout 5 pytest)"], ["Bash(pytest *)"]),
        ("cat /etc/hosts", ["Bash(cat /etc/hosts)"], None),
        ("rg --pre=x y", ["Bash(rg --pre=x y)"], None),
        ("ruff check src/*.py", None, ["Bash(ruff check *)"]),
        ("npm install left-pad", ["Bash(npm install left-pad)"], None),
        ("git rebase main", ["Bash(git rebase main)"], None),
        ("git push --receive-pack=x", ["Bash(git push --receive-pack=x)"], None),
        ("cp a b", ["Bash(cp a b)"], None),
        # Found by the gate: they write temporary files, whatever they are told.
        ("zgrep x a.gz", ["Bash(zgrep x a.gz)"], None),
        ("objdump -d a.o", ["Bash(objdump -d a.o)"], None),
        # Found by the gate: with `--edit` it writes. Of what is not known, only the very command is offered.
        ("git replace -l", ["Bash(git replace -l)"], None),
        ("git fsck", ["Bash(git fsck)"], None),
        ("ldd a.out", ["Bash(ldd a.out)"], None),
        ("nm a.o", ["Bash(nm a.o)"], None),
        ("prlimit a.out", ["Bash(prlimit a.out)"], None),
        ("mytool a", ["Bash(mytool a)"], None),
        ("pytest && mytool a", ["Bash(pytest)", "Bash(mytool a)"], None),
        ("gcc -c a.c", ["Bash(gcc -c a.c)"], ["Bash(gcc *)"]),
        ("gcc @words", ["Bash(gcc @words)"], None),
        ("gh pr view --web", ["Bash(gh pr view --web)"], None),
        ("git add src", ["Bash(git add src)"], ["Bash(git add *)"]),
        ("gh pr view 5", ["Bash(gh pr view 5)"], ["Bash(gh pr view *)"]),
        ("cargo build", ["Bash(cargo build)"], ["Bash(cargo build *)"]),
    ],
)
def test_what_is_offered_for_a_command(command: str, exact: list[str] | None, prefix: list[str] | None) -> None:
    offered = [list(suggestion.rules) for suggestion in judge(command).suggestions]
    assert offered == [rules for rules in (exact, prefix) if rules]
    for rules in offered:
        assert says(command, grants=rules) == "allow"


@pytest.mark.parametrize(
    "command", ["gcc @words", "javac @words", "mypy @words", "gh pr view 5 --web", "pylint --init-hook=x a"]
)
def test_what_is_offered_does_not_mean_a_word_that_runs_something_else(command: str) -> None:
    prefix = "gh pr view" if command.startswith("gh") else command.split()[0]
    assert says(command, allow=[f"Bash({prefix} *)"]) == "ask"


def test_what_is_offered_for_a_file() -> None:
    offered = [suggestion.rules for suggestion in judge(writing("src/a.py")).suggestions]
    assert offered == [("Edit(/src/a.py)",), ("Edit(/src/**)",), ("Edit",)]
    for rules in offered:
        assert says(writing("src/a.py"), grants=rules) == "allow"
    assert [suggestion.rules for suggestion in judge(writing("a.py")).suggestions] == [("Edit(/a.py)",), ("Edit",)]


def test_nothing_is_offered_where_a_rule_would_not_help() -> None:
    assert judge(writing(".env")).suggestions == ()
    assert judge("npm test", ask=["Bash(npm *)"]).suggestions == ()
    assert judge("npm test", deny=["Bash(npm *)"]).suggestions == ()


WORD = st.sampled_from(
    ["npm", "test", "pytest", "git", "push", "commit", "-m", "x", "--y=z", "a/b", "'a b'", "src/*.py", "go", "rm", "ls"]
)


@given(st.lists(WORD, min_size=1, max_size=4), st.lists(WORD, min_size=1, max_size=3))
def test_what_is_offered_stops_the_asking_and_nothing_else(words: list[str], others: list[str]) -> None:
    command = " ".join(words)
    for suggestion in judge(command).suggestions:
        assert says(command, grants=suggestion.rules) == "allow"
        assert judge(f"{command}; evil {' '.join(others)}", grants=suggestion.rules).decision is Decision.ASK
