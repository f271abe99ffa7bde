"""The symbols that grammars find in source code, for each language."""

import sys
from pathlib import Path

import pytest

from robota.workspace.code.symbol import Occurrence
from robota.workspace.code.symbol_reader import SymbolReader

SOURCES = {
    "a.py": (
        "LIMIT = 3\n\nclass Store(Base):\n    size: int = 0\n\n    async def load(self, key: str) -> int:  # slow\n"
        "        def inner() -> None: ...\n        return fetch(key)\n",
        ["constant LIMIT 1-1", "class Store 3-8", "field Store.size 4-4", "method Store.load 6-8"],
    ),
    "a.js": (
        "export class A extends B { x = 1; #p() {} static get q() { return 1 } }\nconst f = async (a) => g(a);\n"
        "export default function h() {}\nconst LIMIT = 3;\n",
        [
            *("class A 1-1", "field A.x 1-1", "method A.#p 1-1", "method A.q 1-1"),
            *("function f 2-2", "function h 3-3", "variable LIMIT 4-4"),
        ],
    ),
    "a.ts": (
        "export interface I<T> { m(a: number): void }\ntype U = V | W;\nenum E { A }\n"
        "namespace N { export abstract class C implements I { abstract z(): void } }\ndeclare function f(): void;\n",
        [
            *("interface I 1-1", "method I.m 1-1", "type U 2-2", "enum E 3-3", "module N 4-4"),
            *("class N.C 4-4", "method N.C.z 4-4", "function f 5-5"),
        ],
    ),
    "a.tsx": ("const App = () => <List items={[]} />;\n", ["function App 1-1"]),
    "a.go": (
        "package p\ntype S struct { F int }\ntype I interface { M() }\nconst C = 1\nfunc (s *S) M(a Q) R { return 1 }\n"
        "func (l *List[T]) Add() {}\nfunc G[T any]() {}\n",
        [
            *("class S 2-2", "interface I 3-3", "method I.M 3-3", "constant C 4-4", "method S.M 5-5"),
            *("method List.Add 6-6", "function G 7-7"),
        ],
    ),
    "a.rs": (
        "pub struct S { f: T }\ntrait Tr { fn m(&self); }\nimpl<T> Tr for S<T> {\n    fn m(&self) { g() }\n}\n"
        "mod n { fn inner() {} }\nmacro_rules! mm { () => {} }\n",
        [
            *("class S 1-1", "interface Tr 2-2", "method Tr.m 2-2", "method S.m 4-4", "module n 6-6"),
            *("function n.inner 6-6", "macro mm 7-7"),
        ],
    ),
    "A.java": (
        "public class D extends E { int f = 1; D() {} void m(G g) { h(); } enum J { K } }\n",
        ["class D 1-1", "field D.f 1-1", "method D.D 1-1", "method D.m 1-1", "enum D.J 1-1"],
    ),
    "a.sh": ("build() {\n  make\n}\n", ["function build 1-3"]),
}


@pytest.fixture(scope="module")
def reader() -> SymbolReader:
    return SymbolReader()


@pytest.mark.parametrize("path", SOURCES)
def test_definitions_are_found_with_what_they_are_in(path: str, reader: SymbolReader) -> None:
    source, expected = SOURCES[path]
    symbols = reader.symbols(path, source.encode())
    assert symbols is not None
    assert [f"{each.kind} {each.name_path} {each.line}-{each.end_line}" for each in symbols.definitions] == expected


def test_a_signature_ends_where_the_body_or_a_comment_begins(reader: SymbolReader) -> None:
    symbols = reader.symbols("a.py", SOURCES["a.py"][0].encode())
    assert symbols is not None
    assert symbols.definitions[-1].signature == "async def load(self, key: str) -> int"


def test_uses_are_counted_without_local_names(reader: SymbolReader) -> None:
    source = "from lib import fetch\ndef f(x: Key) -> None:\n    local = 1\n    fetch(local)\n    store.load()\n"
    symbols = reader.symbols("a.py", source.encode())
    assert symbols is not None and symbols.uses == {"fetch": 2, "Key": 1, "load": 1}


def test_places_of_a_name_are_code_and_not_text(reader: SymbolReader) -> None:
    source = "def load(): ...\n# load\nclass A:\n    def m(self):\n        return load() + len('load')\n"
    found = reader.occurrences("a.py", source.encode(), "load")
    assert found is not None
    assert found.places == (Occurrence(1, 5, "", True), Occurrence(5, 16, "A.m", False))


def test_columns_count_characters_of_any_script(reader: SymbolReader) -> None:
    found = reader.occurrences("a.py", "größe = '𝒳'; load(größe)\n".encode(), "load")
    assert found is not None and found.places == (Occurrence(1, 14, "", False),)
    symbols = reader.symbols("a.py", "class Größe: ...\n".encode())
    assert symbols is not None and symbols.definitions[0].name == "Größe"


@pytest.mark.parametrize(
    ("path", "data"), [("a.txt", b"text"), ("a.json", b"{}"), ("a.py", b"\0\1\2"), ("a.py", b"x" * 2_000_000)]
)
def test_what_has_no_symbols_is_not_read(path: str, data: bytes, reader: SymbolReader) -> None:
    assert reader.symbols(path, data) is None


@pytest.mark.parametrize(
    "text", ["(" * 100_000, "class " * 50_000, "{" * 100_000, "def f(" * 20_000, "\U00100000{" * 9]
)
def test_hostile_text_does_no_harm(text: str, reader: SymbolReader) -> None:
    for path in ("a.py", "a.ts", "a.sh", "a.rs", "a.go"):
        reader.symbols(path, text.encode())
    after = reader.symbols("a.py", b"def f(): ...\n")
    assert after is not None and after.definitions[0].name == "f"


@pytest.mark.parametrize("program", ["import os; os.abort()", "import sys; sys.stdin.read()", "print('x' * 10**8)"])
def test_a_parser_that_crashes_or_stalls_leaves_the_file_unread(program: str) -> None:
    reader = SymbolReader([sys.executable, "-c", program], answer_s=0.2)
    assert reader.symbols("a.py", b"x = 1\n") is None
    reader.end()


def test_the_process_ends_when_it_is_told_to(reader: SymbolReader) -> None:
    own = SymbolReader()
    assert own.symbols("a.py", b"x = 1\n") is not None
    children = _children()
    own.end()
    assert len(_children()) == len(children) - 1


def _children() -> list[str]:
    return [
        each
        for task in Path("/proc/self/task").iterdir()
        for each in (task / "children").read_text().split()
        if b"symbol_child" in Path(f"/proc/{each}/cmdline").read_bytes()
    ]
