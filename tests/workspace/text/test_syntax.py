"""Telling that an edit broke the syntax of a file."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.workspace.text.syntax import LANGUAGES, check, syntax_note
from robota.workspace.text.syntax_tree import first_error
from robota.workspace.text.syntax_worker import NotParsed, SyntaxBreak, SyntaxWorker

BREAKS = {
    "a.py": ("def f():\n    return (1)\n", "def f():\n    return (1\n"),
    "a.pyi": ("class A: ...\n", "class A ...\n"),
    "a.js": ("function f() { return 1 }\n", "function f() { return 1\n"),
    "a.mjs": ("export const a = [1]\n", "export const a = [1\n"),
    "a.jsx": ("const a = <b>x</b>\n", "const a = <b>x\n"),
    "a.ts": ("let a: number = 1\n", "let a: = 1\n"),
    "a.tsx": ("const a = <b>{x as number}</b>\n", "const a = <b>{x as }</b>\n"),
    "a.json": ('{"a": 1}\n', '{"a": }\n'),
    "a.sh": ("if true; then echo 1; fi\n", "if true; then echo 1\n"),
    "a.go": ("package a\nfunc f() {}\n", "package a\nfunc f( {}\n"),
    "a.rs": ("fn main() {}\n", "fn main( {}\n"),
    "A.java": ("class A { int a; }\n", "class A { int a; \n"),
    "a.css": ("a { color: red; }\n", "a { color: red; \n"),
    "a.toml": ("a = 1\n", "a = \n"),
    "a.yaml": ("a: [1, 2]\n", "a: [1, 2\n"),
}


@pytest.mark.parametrize("path", BREAKS)
def test_a_break_is_found_in_every_language(path: str) -> None:
    good, bad = (text.encode() for text in BREAKS[path])
    assert check(path, None, good) is None
    assert check(path, good, bad) is not None
    assert check(path, None, bad) is not None
    assert check(path, bad, good) is None


def test_every_language_is_tested() -> None:
    tested = {path[path.index(".") :] for path in BREAKS}
    assert all(tested & set(suffixes) for suffixes in LANGUAGES.values())


def test_a_file_that_did_not_parse_before_is_not_reported() -> None:
    assert check("a.py", b"def f(:\n", b"def g(:\n") is None


def test_the_position_is_counted_in_characters() -> None:
    found = check("a.py", b"x = 1\n", "x = 1\né = ('ü', ]\n".encode())
    assert found is not None
    assert (found.line, found.text) == (2, "é = ('ü', ]")
    assert found.column <= len(found.text)


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_the_line_is_right_for_every_line_ending(ending: str) -> None:
    found = check("a.json", None, f"[{ending}1,{ending}2 3{ending}]{ending}".encode())
    assert found is not None
    assert (found.line, found.text) == (3, "2 3")


def test_a_missing_token_is_named() -> None:
    found = check("a.py", None, b"def f(:\n    pass\n")
    assert found is not None
    assert found.problem == "')' is missing"


@pytest.mark.parametrize(
    "text", ["if x:\npass\n", "def f():\n", "def f():\n    a\n  b\n", "  a = 1\n", "if x:\n\ta\n        b\n"]
)
def test_indentation_of_python(text: str) -> None:
    assert "indentation error" in syntax_note("a.py", b"pass\n", text.encode())


@pytest.mark.parametrize("text", ["type X = int\n", "x = '\\d'\n", "print('a'\n      'b')\n", "\ufeffx = 1\n"])
def test_what_is_right_for_some_python_is_right(text: str) -> None:
    assert check("a.py", None, text.encode()) is None


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1"])
def test_other_encodings(encoding: str) -> None:
    good, bad = "x = 'é'\n".encode(encoding), "x = ('é'\n".encode(encoding)
    assert check("a.py", None, good) is None
    assert check("a.py", good, bad) is not None


@pytest.mark.parametrize("path", ["a.txt", "a", "Makefile", "a.unknown", ".py"])
def test_files_without_a_grammar_are_not_judged(path: str) -> None:
    assert check(path, None, b"((((") is None


def test_binary_and_large_files_are_not_judged() -> None:
    assert check("a.py", None, b"(\0") is None
    assert check("a.json", None, b"[" * (2 * 1024 * 1024 + 1)) is None


def test_a_file_that_takes_too_long_is_not_judged() -> None:
    data = b"def f(x):\n    return (x + 1\n\n" * 1000
    assert isinstance(first_error("python", data, max_seconds=60), SyntaxBreak)
    assert isinstance(first_error("python", data, max_seconds=-1), NotParsed)


@pytest.mark.parametrize("text", ["(" * 100_000, "-" * 100_000 + "1", "a" + ".b" * 50_000, "1" + "+1" * 50_000])
def test_deep_nesting_does_no_harm(text: str) -> None:
    check("a.py", b"", text.encode())


@given(st.sampled_from(sorted(BREAKS)), st.binary(max_size=200), st.binary(max_size=200))
def test_no_bytes_do_harm(path: str, before: bytes, after: bytes) -> None:
    assert syntax_note(path, before, after) == "" or "line" in syntax_note(path, before, after)


def test_a_text_that_crashed_the_parser_is_checked_without_harm() -> None:
    """A crash of the native parser does not end Robota."""
    assert check("a.sh", None, "{\U00100000..2}\n".encode()) is not None
    assert check("a.sh", None, b"echo hi\n") is None


@pytest.mark.parametrize("program", ["import os; os.abort()", "import sys; sys.stdin.read()", "print('x' * 10**6)"])
def test_a_parser_that_crashes_or_stalls_means_not_parsed(program: str) -> None:
    worker = SyntaxWorker([sys.executable, "-c", program], answer_s=0.2)
    for _ in range(2):
        assert worker.first_error("python", b"x" * 2_000_000) == NotParsed()
