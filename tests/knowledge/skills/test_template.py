"""Skill templates: arguments and outputs are inserted once, and never become commands."""

import asyncio
import shlex
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.knowledge.skills.template import Literal, Values, fill, parse_template


def filled(text: str, typed: str = "", names: tuple[str, ...] = (), variables: Mapping[str, str] | None = None) -> str:
    async def run(command: str) -> str:
        return f"<{command}>"

    values = Values(typed=typed, names=names, variables=variables or {})
    return asyncio.run(fill(parse_template(text), values, run)).text


@pytest.mark.parametrize(
    ("text", "typed", "result"),
    [
        ("Fix $ARGUMENTS now", "the roof", "Fix the roof now"),
        ("Fix $0, then $1", "'the roof' walls", "Fix the roof, then walls"),
        ("Fix $0, then $1", "roof", "Fix roof, then $1"),
        ("Fix $ARGUMENTS[1]", "a b", "Fix b"),
        ("Fix $1, then $2", "roof walls", "Fix roof, then walls"),
        ("Fix $1, then $2", "roof", "Fix roof, then $2"),
        ("Fix $1 of $ARGUMENTS[0]", "a b", "Fix b of a"),
        ("See !`gh pr view $1`", "42", "See <gh pr view 42>"),
        ("See !`awk '{print $1}' f` of $ARGUMENTS", "x", "See <awk '{print $1}' f> of x"),
        ('In !`git log --grep="$ARGUMENTS"`', 'a "b" $c', 'In <git log --grep="a \\"b\\" \\$c">'),
        ("Costs \\$1", "a", "Costs $1\n\nARGUMENTS: a"),
        ("No place", "a b", "No place\n\nARGUMENTS: a b"),
        ("No place", "", "No place"),
        ("In !`git log -1` there", "", "In <git log -1> there"),
        ("A\n```!\ngit status\nls\n```\nB", "", "A\n<git status\nls\n>\nB"),
        ("A\n```!\nnever ends", "", "A\n```!\nnever ends"),
        ("$10 and $HOME stay", "", "$10 and $HOME stay"),
        ("`code!`x``", "", "`code!`x``"),
    ],
)
def test_placeholders_are_filled(text: str, typed: str, result: str) -> None:
    assert filled(text, typed) == result


def test_command_output_cannot_mention_files() -> None:
    async def run(command: str) -> str:
        return "@printed"

    parts = parse_template("See @written, @src/$0 and !`cmd`.")
    assert asyncio.run(fill(parts, Values(typed="a.py"), run)).mention_source == "See @written, @src/a.py and ."


def test_named_arguments_and_variables_are_filled() -> None:
    text = "$issue in ${PROJECT_DIR}, ${UNKNOWN}"
    assert filled(text, "42", ("issue",), {"PROJECT_DIR": "/p"}) == "42 in /p, ${UNKNOWN}"
    assert filled("<$issue>", "", ("issue",)) == "<>"


def test_placeholders_and_commands_in_arguments_are_not_interpreted() -> None:
    assert filled("$ARGUMENTS", "$0 !`rm x` ${PROJECT_DIR}") == "$0 !`rm x` ${PROJECT_DIR}"


@given(st.text(min_size=1).filter(str.strip))
def test_an_argument_reaches_a_shell_only_as_one_quoted_word(typed: str) -> None:
    command = filled("!`grep $0 file`", shlex.quote(typed)).removeprefix("<").removesuffix(">")
    if "\0" not in typed:
        assert shlex.split(command) == ["grep", typed, "file"]


@given(st.text())
def test_all_arguments_reach_a_shell_as_separate_quoted_words(typed: str) -> None:
    command = filled("!`echo $ARGUMENTS`", typed).split("\n\nARGUMENTS")[0].removeprefix("<").removesuffix(">")
    assert shlex.split(command) == ["echo", *Values(typed=typed).words]


@given(st.text(alphabet=st.sampled_from("$!`\\{}[]ARGUMENTS01 \nx")))
def test_a_text_without_placeholders_is_unchanged(text: str) -> None:
    parts = parse_template(text)
    if all(isinstance(part, Literal) for part in parts) and "\\$" not in text and "```" not in text:
        assert "".join(part.text for part in parts if isinstance(part, Literal)) == text


@pytest.mark.parametrize("text", ["```!\n" * 40_000, "!`a" * 80_000, "$ARGUMENTS[" * 20_000, "```!\n```\n" * 20_000])
def test_a_hostile_template_is_parsed_in_linear_time(text: str) -> None:
    assert parse_template(text)
