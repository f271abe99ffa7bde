"""Two texts have one shape if they differ in layout, comments and names of their own, and in nothing else."""

import pytest

from robota.workspace.text.syntax import shape_of


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("a.py", "def f(a, b):\n  'x'\n  return a-b\n", "def g(x , y):\n    # c\n    return x-y\n"),
        ("a.py", "x='a'", 'x = "a"'),
        ("a.js", "function f(a){ return a+1 }", "function g(b){\n  // c\n  return b+1 }"),
        ("a.go", "package m\nfunc f(a int) int { return a }", "package m\nfunc g(b int) int {\n return b }"),
        ("a.rs", "fn f(a:i32)->i32{a}", "fn f(b: i32) -> i32 { b }"),
        ("a.json", '{"a":1}', '{ "a" : 1 }'),
    ],
)
def test_the_same(name: str, one: str, other: str) -> None:
    assert shape_of(name, one.encode()) == shape_of(name, other.encode()) is not None


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("a.py", "x=1<2", "x=1<=2"),
        ("a.py", "x=a and b", "x=a or b"),
        ("a.py", "y=min(1)", "y=max(1)"),
        ("a.py", "def f(a,b): return a-b", "def f(b,a): return a-b"),
        ("a.py", "x='é'", "x='ü'"),
        ("a.py", "x=a.b", "x=a.c"),
        ("a.js", "let x=a<1", "let x=a<=1"),
        ("a.js", "let x=min(1)", "let x=max(1)"),
        ("a.js", "let x='é'", "let x='ü'"),
        ("a.js", "let x='a b'", "let x='a  b'"),
        ("a.js", "if(a){b()}c()", "if(a){b();c()}"),
        ("a.sh", "echo a", "echo b"),
    ],
)
def test_not_the_same(name: str, one: str, other: str) -> None:
    shapes = shape_of(name, one.encode()), shape_of(name, other.encode())
    assert None not in shapes and shapes[0] != shapes[1]


@pytest.mark.parametrize(("name", "text"), [("a.py", "def f(:"), ("a.js", "let = ="), ("a.txt", "x"), ("a.py", "\0\1")])
def test_what_cannot_be_parsed_has_none(name: str, text: str) -> None:
    assert shape_of(name, text.encode()) is None
