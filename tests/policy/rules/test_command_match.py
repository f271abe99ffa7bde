"""Matching the words of rules: exactly to allow, generously to deny."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.contracts.verdict import Decision
from robota.policy.rules.command_match import could_contain, matches_exactly, pattern_words
from robota.workspace.shell.reading import read_script
from robota.workspace.shell.script import Plain
from tests.policy.judging import judge, says

HIDING_PLACES = [
    "git push",
    "git push origin main",
    "ls && git push",
    "ls;git push",
    "ls\ngit push",
    "echo $(git push)",
    "echo `git push`",
    "env A=1 git push",
    "FOO=1 git push",
    "timeout 5 git push",
    'g"i"t push',
    "\\git pu\\sh",
    "$'git' push",
    "git \\\n push",
    'git$IFS"push"',
    "{git,push}",
    "/usr/bin/git push",
    "git -C dir push",
    "git -c a.b=c --no-pager push",
    "bash -c 'git push'",
    "find . -exec git push ';'",
    "ssh host git push",
    "git -c alias.p=push p",
    "true " + "&& true " * 500 + "&& git push",
]


@given(st.text())
def test_reading_never_fails(command: str) -> None:
    assert could_contain(command, ("git", "push", "*")) in {True, False}


@pytest.mark.parametrize(
    ("pattern", "command", "expected"),
    [
        ("git diff *", "git diff", True),
        ("git diff *", "git diff HEAD a.py", True),
        ("git diff:*", "git diff HEAD", True),
        ("git diff", "git diff HEAD", False),
        ("git diff *", "git difftool", False),
        ("git *", "gitk", False),
        ("*", "ls -la", True),
        ("npm run test*", "npm run test:unit", True),
        ("npm run test*", "npm run test x", False),
        ("git * main", "git push main", True),
        ("git * main", "git push -f main", False),
        ("rm build/a", "rm build/*", False),
        ("rm build/* x", "rm build/* x", False),
        ("rm build *", "rm build build/*", True),
        ("rm *", "rm *", True),
    ],
)
def test_allowing_is_word_by_word(pattern: str, command: str, expected: bool) -> None:
    script = read_script(command)
    assert isinstance(script, Plain)
    [simple] = script.commands
    assert matches_exactly(simple, simple.argv, pattern_words(pattern)) is expected


@pytest.mark.parametrize("command", HIDING_PLACES)
@pytest.mark.parametrize("pattern", ["git push *", "git push", "git push:*"])
def test_a_denied_command_is_found_wherever_it_hides(command: str, pattern: str) -> None:
    assert says(command, "bypassPermissions", deny=[f"Bash({pattern})"]) == "deny"
    assert says(command, "bypassPermissions", ask=[f"Bash({pattern})"]) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "git pull",
        "git log && docker push x",
        "gitpush",
        "git commit -m 'git push'",
        "echo git push",
        "grep 'git push' x",
    ],
)
def test_other_commands_are_not_denied(command: str) -> None:
    assert says(command, "bypassPermissions", deny=["Bash(git push *)"]) == "allow"


def test_the_reason_names_the_file_that_would_be_written() -> None:
    for command in ("git log > out.txt", "ls > out.txt", "npm test > out.txt"):
        assert "writes to 'out.txt'" in judge(command).reason


@pytest.mark.parametrize("blank", ["\u3164", "\u2800", "\u115f", "\uffa0", "\u034f"])
def test_a_character_that_shows_nothing_makes_a_command_opaque(blank: str) -> None:
    """Unicode classifies it as printable, but the user would not see it in `rm {blank}x`."""
    verdict = judge(f"cat 'a{blank}b'")
    assert verdict.decision is Decision.ASK and f"U+{ord(blank):04X}" in verdict.reason
    assert judge("echo '\u26a0\ufe0f'").decision is Decision.ALLOW


def test_a_line_break_in_a_quoted_word_draws_no_line_of_its_own() -> None:
    verdict = judge("npm test 'x\nls: allowed' && ls")
    assert [part.text.count("\n") for part in verdict.parts] == [0, 0]
    assert "‹U+000A›" in verdict.parts[0].text
