"""The tool `symbols`: outlines, the map of a repository, and finding definitions."""

from pathlib import Path

import pytest

from robota.contracts.tool import ToolError
from tests.tools.workbench import Workbench


@pytest.fixture
def bench(workspace: Path) -> Workbench:
    (workspace / "pkg").mkdir()
    (workspace / "pkg/store.py").write_text(
        "class Store:\n    def open_store(self) -> None: ...\n\n\ndef make_store() -> Store:\n    return Store()\n"
    )
    (workspace / "pkg/app.py").write_text("from pkg.store import make_store\n\n\ndef run():\n    make_store()\n")
    (workspace / "pkg/other.py").write_text("from pkg.store import make_store\n\nX = make_store()\n")
    (workspace / "notes.txt").write_text("make_store\n")
    return Workbench(workspace)


def test_the_outline_of_a_file(bench: Workbench) -> None:
    assert bench.call("symbols", path="pkg/store.py").content == (
        "pkg/store.py (3 definitions):\n"
        "1-2 | class Store\n"
        "2-2 |   def open_store(self) -> None\n"
        "5-6 | def make_store() -> Store"
    )


def test_the_map_begins_with_what_others_use(bench: Workbench) -> None:
    lines = bench.call("symbols").content.splitlines()
    assert lines[0] == "pkg/store.py"
    assert "    5 | def make_store() -> Store" in lines


def test_the_map_of_a_directory_has_only_its_files(bench: Workbench) -> None:
    (bench.cwd / "top.py").write_text("def top(): ...\n")
    assert "top.py" not in bench.call("symbols", path="pkg").content
    assert "top.py" in bench.call("symbols").content


def test_a_map_that_does_not_fit_says_how_to_see_the_rest(bench: Workbench) -> None:
    for number in range(300):
        (bench.cwd / f"pkg/m{number}.py").write_text(f"def function_{number}(): ...\n")
    text = bench.call("symbols").content
    assert len(text) < 7_000 and "most used of 303 files that define something" in text and "give a path" in text


def test_definitions_by_name_and_by_name_path(bench: Workbench) -> None:
    for query in ("open_store", "Store.open_store"):
        text = bench.call("symbols", query=query).content
        assert text == (
            f"1 definition of {query}:\npkg/store.py:2-2 | method Store.open_store | def open_store(self) -> None"
        )


def test_similar_names_are_offered_if_there_is_none(bench: Workbench) -> None:
    text = bench.call("symbols", query="STORE").content
    assert text.startswith("No definition of 'STORE'; 3 definitions of similar names:\npkg/store.py:1-2 | class Store")


def test_a_name_that_nothing_defines(bench: Workbench) -> None:
    text = bench.call("symbols", query="requests.get").content
    assert text == (
        'No definition of \'requests.get\'. It may come from a library. Search for it: search_files {"regex":"get"}'
    )


def test_changed_files_are_read_again(bench: Workbench) -> None:
    bench.call("symbols", query="open_store")
    (bench.cwd / "pkg/store.py").write_text("def renamed_store(): ...\n")
    assert "renamed_store" in bench.call("symbols", query="renamed_store").content
    assert "No definition" in bench.call("symbols", query="open_store").content


def test_ignored_and_hidden_files_are_left_out(bench: Workbench) -> None:
    (bench.cwd / ".gitignore").write_text("built/\n")
    (bench.cwd / ".robotaignore").write_text("secret/\n")
    for directory in ("built", "secret"):
        (bench.cwd / directory).mkdir()
        (bench.cwd / directory / "a.py").write_text("def unseen_function(): ...\n")
    assert "No definition" in bench.call("symbols", query="unseen_function").content


def test_a_long_outline_names_the_call_for_the_rest(bench: Workbench) -> None:
    (bench.cwd / "long.py").write_text("".join(f"def f{number}(): ...\n" for number in range(500)))
    text = bench.call("symbols", path="long.py").content
    assert text.count("def f") == 300
    assert '[Showing 300 of 500. To see the code from the next on: read_file {"path":"long.py","offset":301}]' in text


def test_files_without_a_grammar_name_the_call_that_reads_them(bench: Workbench) -> None:
    with pytest.raises(ToolError, match=r"There is no grammar for 'notes.txt'.*Nothing was listed. Read it: read_file"):
        bench.call("symbols", path="notes.txt")


def test_a_missing_file_names_similar_ones(bench: Workbench) -> None:
    with pytest.raises(ToolError, match=r"Did you mean 'pkg/store\.py'"):
        bench.call("symbols", path="pkg/stor.py")


def test_code_outside_the_workspace_is_not_indexed(bench: Workbench, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="outside"):
        bench.call("symbols", path=str(tmp_path))


def test_names_are_printable(bench: Workbench) -> None:
    (bench.cwd / "pkg/a\u202eb.py").write_text("def f(): ...\n")
    assert "\u202e" not in bench.call("symbols").content


def test_a_workspace_without_code(workspace: Path) -> None:
    text = Workbench(workspace).call("symbols").content
    assert text == "No definitions in a language with a grammar. Use list_files and search_files."
