"""Reading shell commands: what is plain, what is not, and that nothing makes it fail."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.workspace.shell.reading import MAX_CHARACTERS, MAX_COMMANDS, read_script
from robota.workspace.shell.script import Opaque, Plain, Redirect, Unjudgeable

SIGNS = "$`&(){}!\r\0\x0b\x1b\u202e"
WORDS = st.lists(st.text("abcXYZ019_./:-", min_size=1, max_size=6).map(lambda word: "x" + word), min_size=1, max_size=5)


def argvs(command: str) -> list[tuple[str, ...]]:
    script = read_script(command)
    assert isinstance(script, Plain), script
    return [simple.argv for simple in script.commands]


@given(WORDS)
def test_plain_words_are_the_words(words: list[str]) -> None:
    assert argvs("  ".join(words)) == [tuple(words)]


@given(WORDS, st.sampled_from(SIGNS), st.data())
def test_a_command_with_such_a_sign_is_not_plain(words: list[str], sign: str, data: st.DataObject) -> None:
    command = " ".join(words)
    place = data.draw(st.integers(0, len(command)))
    assert not isinstance(read_script(command[:place] + sign + command[place:]), Plain)


@given(st.text(max_size=300))
def test_reading_never_fails(command: str) -> None:
    assert isinstance(read_script(command), Plain | Opaque | Unjudgeable)


PRINTABLE = st.text(min_size=1, max_size=8).filter(lambda text: text.isprintable() and "'" not in text)


@given(st.lists(PRINTABLE, max_size=4))
def test_quoted_words_are_taken_as_they_are(texts: list[str]) -> None:
    words = [text for text in texts if not text.startswith("~")]
    assert argvs(" ".join(["run", *(f"'{word}'" for word in words)])) == [("run", *words)]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("a && b || c; d | e\nf", [("a",), ("b",), ("c",), ("d",), ("e",), ("f",)]),
        ("a&&b;c|d", [("a",), ("b",), ("c",), ("d",)]),
        ("a;\n\n b &&\n c;", [("a",), ("b",), ("c",)]),
        ("g\"i\"'t' lo\\g", [("git", "log")]),
        ('a \'b c\' "d e" "f\\"g" \'h"i\'', [("a", "b c", "d e", 'f"g', 'h"i')]),
        ('a "b\\\\c" "d\\ne" \'\'', [("a", "b\\c", "d\\ne", "")]),
        ("a b=c --d=e HEAD~1 x#y", [("a", "b=c", "--d=e", "HEAD~1", "x#y")]),
        ("a ';' '&&' \"|\"", [("a", ";", "&&", "|")]),
        ("a # b; c\nd", [("a",), ("d",)]),
        ("a ~ ~/b", [("a", "~", "~/b")]),
        ("a 'ü' \"é\"", [("a", "ü", "é")]),
        ("time ls", [("time", "ls")]),
    ],
)
def test_what_the_words_of_a_plain_command_are(command: str, expected: list[tuple[str, ...]]) -> None:
    assert argvs(command) == expected


@pytest.mark.parametrize(
    ("command", "redirects"),
    [
        ("a > b", [(">", "b")]),
        ("a >> 'b c' 2> d", [(">>", "b c"), (">", "d")]),
        ("a >| b &> c < d", [(">|", "b"), ("&>", "c"), ("<", "d")]),
        ("a 2>&1", []),
        ("a 2>&1 >b", [(">", "b")]),
        ("x && a > b", [(">", "b")]),
        ("x | y | a > b 2>&1", [(">", "b")]),
    ],
)
def test_a_redirection_is_a_file_of_its_command(command: str, redirects: list[tuple[str, str]]) -> None:
    script = read_script(command)
    assert isinstance(script, Plain)
    assert script.commands[-1].argv == ("a",)
    assert script.commands[-1].redirects == tuple(Redirect(operator=sign, target=name) for sign, name in redirects)


def test_patterns_are_marked() -> None:
    script = read_script("ls '*' src/*.py 'a'?b x[ab]")
    assert isinstance(script, Plain)
    assert script.commands[0].globs == {2, 3, 4}


@pytest.mark.parametrize(
    "command",
    [
        "",
        "  ",
        "# only words",
        "a &&",
        "&& a",
        "a ;; b",
        "a | | b",
        "a >",
        "> b",
        "a > b*",
        "a <<< b",
        "a << b",
        "a <> b",
        "a >& b",
        "a 2>&-",
        "a {fd}> b",
        "~/x",
        "~me/x",
        "a ~me",
        "a '~/x'",
        "a x=~",
        "a x:~",
        "*",
        "a*b c",
        "x=1",
        "x+=1 y",
        "a[0]=1 y",
        "time x=1 y",
        "time if",
        "time *",
        "[[ a ]]",
        "[ a ]",
        "((1))",
        "a .*",
        "a b/.?",
        "a */../b",
        "ls\u00a0-la",
        "ls é",
        "a \\\n b",
        "a\\",
        "set -e",
        "exec a",
        "read x",
        "if a; then b; fi",
    ],
)
def test_what_is_not_plain(command: str) -> None:
    assert isinstance(read_script(command), Opaque)


@pytest.mark.parametrize("command", ["{\U000c8dc8=>#", "'$\U00054648$", "echo 😀 $x", "echo '😀'"])
def test_no_character_crashes_the_grammar(command: str) -> None:
    """Some made its scanner read outside its memory, which ended the process."""
    assert isinstance(read_script(command * 50), Plain | Opaque)


def test_commands_found_in_an_opaque_command_are_returned() -> None:
    script = read_script('for x in $(git push); do rm "$x" & done')
    assert isinstance(script, Opaque)
    assert ("git", "push") in script.possible
    assert any(argv[0] == "rm" for argv in script.possible)


def test_limits_refuse_and_do_not_shorten() -> None:
    assert isinstance(read_script("a " * MAX_CHARACTERS), Unjudgeable)
    assert isinstance(read_script("a;" * (MAX_COMMANDS + 1)), Unjudgeable)
    assert isinstance(read_script("a\0"), Unjudgeable)
    assert len(argvs("a;" * MAX_COMMANDS)) == MAX_COMMANDS
