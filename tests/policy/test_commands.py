"""Reading commands for rules: strict to allow, generous to deny."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.policy.commands import could_contain, matches_exactly, pattern_words, plain_words

SIGNS = "\"'$`|&;<>(){}[]*?~\\#!\n\r^\0"
WORDS = st.lists(st.text("abcXYZ019_./:-", min_size=1, max_size=6), min_size=1, max_size=5)


@given(WORDS, st.sampled_from(SIGNS), st.data())
def test_a_command_with_any_sign_has_no_plain_words(words: list[str], sign: str, data: st.DataObject) -> None:
    command = " ".join(words)
    place = data.draw(st.integers(0, len(command)))
    changed = command[:place] + sign + command[place:]
    # A line ending at the very edge is stripped by no shell, so it is no exception either.
    assert plain_words(changed) is None


@given(WORDS)
def test_plain_words_are_the_words(words: list[str]) -> None:
    assert plain_words("  ".join(words)) == tuple(words)


@given(st.text())
def test_reading_never_fails_and_what_is_plain_can_be_denied(command: str) -> None:
    words = plain_words(command)
    assert could_contain(command, ("git", "push", "*")) in {True, False}
    if words is not None:
        assert could_contain(command, words)


@pytest.mark.parametrize("command", ["", "FOO=1 git log", "LD_PRELOAD=./x.so ls", "a\u00a0b", "ls \u202e", "=ls"])
def test_commands_that_are_not_plain(command: str) -> None:
    assert plain_words(command) is None


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
    ],
)
def test_allowing_is_word_by_word(pattern: str, command: str, expected: bool) -> None:
    words = plain_words(command)
    assert words is not None
    assert matches_exactly(words, pattern_words(pattern)) is expected


@pytest.mark.parametrize(
    "command",
    [
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
        "true " + "&& true " * 5000 + "&& git push",
    ],
)
def test_a_denied_command_is_found_wherever_it_hides(command: str) -> None:
    assert could_contain(command, ("git", "push", "*"))
    assert could_contain(command, ("git", "push"))


@pytest.mark.parametrize("command", ["git pull", "git log && docker push x", "gitpush", "git commit -m x push", "ls"])
def test_other_commands_are_not_denied(command: str) -> None:
    assert not could_contain(command, ("git", "push", "*"))
