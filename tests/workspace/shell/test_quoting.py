"""Texts put into a command stay texts: a real bash is asked what it understood."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.workspace.shell.quoting import Argument, CannotQuote, with_arguments

# What ends quotes, starts commands or is left out by a shell comes up often.
TEXT = st.text(alphabet=st.one_of(st.sampled_from("'\"$`\\;&|()\n #*~!x"), st.characters(exclude_characters="\0")))
BEFORE_AND_BEHIND = [
    ("", ""),
    ("'a ", " b'"),
    ('"a ', ' b"'),
    ("--x=", ""),
    ('--x="', '"'),
    ('"$(printf "%s\\0" "', '" | tr -d "\\0"; printf x)"'),
    ("'a'\"b\"", "'c'"),
]


def words_of(command: str) -> list[str]:
    """The words that bash gives to a program; the commands here print each of theirs with a zero byte."""
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=True)
    return done.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]


@pytest.mark.parametrize(("before", "behind"), BEFORE_AND_BEHIND)
@given(text=TEXT.filter(lambda text: "\r" not in text))
def test_bash_reads_an_argument_as_the_text_it_is(before: str, behind: str, text: str) -> None:
    argument = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    command = with_arguments(["printf '%s\\0' ", before, Argument(argument, (argument,)), behind])
    plain = words_of(f"printf '%s\\0' {before}xxx{behind}")
    assert words_of(command) == [word.replace("xxx", argument) for word in plain]


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ("cat <<E\n", "\nE"),
        ("echo $", ""),
        ('echo "$', '"'),
        ("echo \\", ""),
        ("echo $'", "'"),
        ('echo "${x:-', '}"'),
        ("echo `cat ", "`"),
        ("echo $((", "))"),
        ("true # ", ""),
        ("echo 'never ends ", ""),
    ],
)
def test_where_quotes_would_not_help_nothing_is_put_in(before: str, behind: str) -> None:
    with pytest.raises(CannotQuote):
        with_arguments([before, Argument("x", ("x",)), behind])


def test_a_command_without_arguments_is_itself() -> None:
    assert with_arguments(["cat <<E\n", "$(date)\nE"]) == "cat <<E\n$(date)\nE"
