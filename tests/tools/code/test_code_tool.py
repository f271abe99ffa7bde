"""The tool `code` without a language server: answers by grammar and by text, which say so."""

from pathlib import Path

import pytest

from robota.contracts.tool import BadArguments, ToolError
from tests.tools.workbench import Workbench

BY_GRAMMAR = "[Syntactic: names compared by a grammar, which does not tell symbols of one name apart"


@pytest.fixture
def bench(workspace: Path) -> Workbench:
    (workspace / "store.py").write_text(
        "class Base: ...\n\n\nclass Store(Base):\n    # load it\n    def load(self):\n        return fetch()\n\n\n"
        "def fetch():\n    'fetch something'\n    return 1\n"
    )
    (workspace / "app.py").write_text("from store import fetch\n\n\ndef run():\n    return fetch() + 1\n")
    (workspace / "notes.md").write_text("Call fetch first.\n")
    return Workbench(workspace)


def test_references_are_grouped_by_file_and_by_what_they_are_in(bench: Workbench) -> None:
    text = bench.call("code", what="references", symbol="fetch").content
    assert text == (
        "5 places in 3 files: references of fetch\n"
        "# app.py\n1 | from store import fetch\nin run:\n5 | return fetch() + 1\n"
        "# store.py\nin Store.load:\n7 | return fetch()\n10 | def fetch():\n"
        "# notes.md\n1 | Call fetch first.\n"
        "[1 line with the name in comments or strings left out.]\n"
        f"{BY_GRAMMAR}; language servers are switched off.]"
    )


def test_callers_are_the_places_with_an_argument_list(bench: Workbench) -> None:
    text = bench.call("code", what="callers", symbol="fetch").content
    assert "in run:\n5 |" in text and "in Store.load:\n7 |" in text and "import" not in text and "10 |" not in text


def test_a_definition_and_what_implements_a_class(bench: Workbench) -> None:
    assert "# store.py\n10 | def fetch():" in bench.call("code", what="definition", symbol="fetch").content
    found = bench.call("code", what="implementations", symbol="Base").content
    assert "# store.py\n4 | class Store(Base)\n" in found


def test_what_is_written_about_a_symbol(bench: Workbench) -> None:
    text = bench.call("code", what="hover", symbol="Store.load").content
    assert text.startswith("# load it\n    def load(self):") and "[Textual: its source" in text


def test_only_the_syntax_is_checked(bench: Workbench) -> None:
    (bench.cwd / "broken.py").write_text("def f(:\n")
    text = bench.call("code", what="diagnostics", path="broken.py").content
    assert text.startswith("1 problem in broken.py\nbroken.py:1:") and "Only the syntax was checked" in text
    clean = bench.call("code", what="diagnostics", path="store.py").content
    assert clean.startswith("No problems in store.py\n[Only the syntax was checked, not names and types")


def test_several_definitions_are_listed_with_the_call_that_chooses_one(bench: Workbench) -> None:
    (bench.cwd / "other.py").write_text("def fetch(): ...\n")
    text = bench.call("code", what="references", symbol="fetch").content
    assert text == (
        "2 definitions of fetch. Which one? For example: "
        'code {"what":"references","symbol":"fetch","path":"other.py","line":1}\n'
        "other.py:1 | function fetch\nstore.py:10 | function fetch"
    )
    assert "places in" in bench.call("code", what="references", symbol="fetch", path="store.py").content


def test_a_name_that_is_nowhere(bench: Workbench) -> None:
    text = bench.call("code", what="definition", symbol="fetsh").content
    assert text == ('Nothing in the workspace is called fetsh. Search for a part of it: search_files {"regex":"fetsh"}')
    similar = bench.call("code", what="definition", symbol="fetc").content
    assert "Similar names:\nstore.py:10 | function fetch" in similar


def test_many_places_name_the_call_for_the_next_file(bench: Workbench) -> None:
    for name in ("many.py", "more.py"):
        (bench.cwd / name).write_text("from store import fetch\n" + "fetch()\n" * 400)
    text = bench.call("code", what="references", symbol="fetch").content
    call = 'search_files {"regex":"\\\\bfetch\\\\b","path":"many.py"}'
    assert f"[Showing 300 of 807. For those in the next file: {call}]" in text


def test_an_incomplete_question_says_what_is_missing(bench: Workbench) -> None:
    with pytest.raises(BadArguments, match=r"Nothing was checked: diagnostics needs a file\. Give path\."):
        bench.call("code", what="diagnostics")
    with pytest.raises(BadArguments, match=r"Nothing was looked up: this needs a name\. Give symbol\."):
        bench.call("code", what="definition")


def test_files_outside_are_to_be_read(bench: Workbench, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="outside"):
        bench.call("code", what="diagnostics", path=str(tmp_path / "x.py"))
