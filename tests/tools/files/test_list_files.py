"""Listing directories as a model does."""

import json
from pathlib import Path

import pytest

from robota.contracts.tool import ToolError
from tests.tools.workbench import Workbench


def make(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()


def listed(bench: Workbench, path: str = ".", *, recursive: bool = False) -> list[str]:
    return bench.call("list_files", path=path, recursive=recursive).content.split("\n")


def test_directories_come_first_and_numbers_count_as_numbers(bench: Workbench, tmp_path: Path) -> None:
    make(tmp_path, "file10.txt", "file9.txt", "b/x", "a10/x", "a9/x", "README")
    assert listed(bench) == ["a9/", "a10/", "b/", "README", "file9.txt", "file10.txt"]


def test_a_recursive_list_shows_each_directory_with_its_content(bench: Workbench, tmp_path: Path) -> None:
    make(tmp_path, "z.txt", "src/b.py", "src/deep/a.py", "node_modules/x/y.js", ".git/config", "top.txt")
    assert listed(bench, recursive=True) == [
        ".git/",
        "node_modules/",
        "src/",
        "src/deep/",
        "src/deep/a.py",
        "src/b.py",
        "top.txt",
        "z.txt",
    ]
    assert listed(bench, "src", recursive=True) == ["deep/", "deep/a.py", "b.py"]


def test_a_long_list_shows_the_top_and_says_that_it_was_cut(bench: Workbench, tmp_path: Path) -> None:
    make(tmp_path, *(f"many/{number}.txt" for number in range(500)), "late/x", "z.txt")
    lines = listed(bench, recursive=True)
    assert len([line for line in lines if line and not line.startswith("[")]) == 200
    assert {"late/", "late/x", "many/", "z.txt"} <= set(lines)
    assert lines[-2:] == [
        "[Showing entries 1-200; there are more.]",
        '[For the next entries: list_files {"recursive":true,"offset":200}]',
    ]


def test_emptiness_and_errors_are_said(bench: Workbench, tmp_path: Path) -> None:
    assert listed(bench) == ["The directory '.' is empty, or everything in it is hidden from you."]
    make(tmp_path, "file")
    for path, message in (("gone", "does not exist"), ("file", "not a directory"), ("..", "outside")):
        with pytest.raises(ToolError, match=message):
            listed(bench, path)


@pytest.mark.parametrize(("recursive", "action"), [(True, "listFilesRecursive"), (False, "listFilesTopLevel")])
def test_the_ask_names_path_and_depth(bench: Workbench, recursive: bool, action: str) -> None:
    preview = bench.preview("list_files", path="src", recursive=recursive)
    assert json.loads(preview.text) == {"tool": action, "path": "src"}
