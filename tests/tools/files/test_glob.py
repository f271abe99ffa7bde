"""Finding files by name as a model does."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from robota.contracts.tool import ToolError
from tests.tools.workbench import Workbench


def make(root: Path, *names: str) -> None:
    """Files, each a minute older than the one before."""
    for age, name in enumerate(names):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
        os.utime(path, (1_700_000_000 - 60 * age,) * 2)


def found(bench: Workbench, pattern: str, path: str = ".") -> list[str]:
    return bench.call("glob", pattern=pattern, path=path).content.split("\n")


def test_files_come_newest_first_with_paths_from_the_workspace(bench: Workbench, tmp_path: Path) -> None:
    make(tmp_path, "src/new.py", "zzz.py", "src/deep/old.py", "other.txt")
    assert found(bench, "*.py") == ["src/new.py", "zzz.py", "src/deep/old.py"]
    assert found(bench, "*.py", "src") == ["src/new.py", "src/deep/old.py"]
    assert found(bench, "deep/*", "src") == ["src/deep/old.py"]
    assert found(bench, "./*.py") == ["zzz.py"]


def test_ignored_and_hidden_files_do_not_count(bench: Workbench, tmp_path: Path) -> None:
    make(tmp_path, "a.log", "build/b.py", ".env", ".github/ci.yml", ".git/config", "secret/c.py", "d.py")
    (tmp_path / ".gitignore").write_text("*.log\nbuild/\n")
    (tmp_path / ".robotaignore").write_text("secret/\n")
    make(tmp_path, "sub/hidden.py")
    (tmp_path / "sub/.robotaignore").write_text("hidden*\n")  # ripgrep does not know this one
    assert found(bench, "**") == ["d.py"]
    [none] = found(bench, "*.log")
    assert none == "No files in '.' match '*.log'. Hidden and ignored files are not searched. Try another pattern."
    assert found(bench, ".github/**") == [".github/ci.yml"]
    assert found(bench, "**/.env*") == [".env"]
    assert "config" not in bench.call("glob", pattern=".git/**").content


def test_links_are_not_followed(bench: Workbench, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    make(outside, "f.py")
    (tmp_path / "link").symlink_to(outside)
    assert "No files in" in bench.call("glob", pattern="**/*.py").content
    with pytest.raises(ToolError, match="outside the workspace"):
        bench.call("glob", pattern="*", path="link")


def test_a_long_list_is_cut_and_says_how_long_it_was(bench: Workbench, tmp_path: Path) -> None:
    make(tmp_path, *(f"{number}.txt" for number in range(310)))
    lines = found(bench, "*.txt")
    assert lines[:300] == [f"{number}.txt" for number in range(300)]
    assert lines[-2] == "[Showing files 1-300 of at most 310, the newest first.]"
    assert lines[-1] == '[For the next files: glob {"pattern":"*.txt","offset":300}]'


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pattern": "{a"}, "not closed"),
        ({"pattern": "{a,b}" * 10}, "more than 100"),
        ({"pattern": "*", "path": "gone"}, "not an existing directory"),
        ({"pattern": "*", "path": "file"}, "not an existing directory"),
        ({"pattern": "../*"}, "leads out"),
    ],
)
def test_what_cannot_be_looked_for_is_an_error(
    bench: Workbench, tmp_path: Path, arguments: dict[str, str], message: str
) -> None:
    make(tmp_path, "file")
    with pytest.raises(ToolError, match=message):
        bench.call("glob", **arguments)


def test_strange_names_are_shown_escaped(bench: Workbench, tmp_path: Path) -> None:
    make(tmp_path, "a\nb.txt", "-x.txt")
    assert found(bench, "*.txt") == ["a\\nb.txt", "-x.txt"]


def test_the_ask_names_pattern_and_place(bench: Workbench) -> None:
    text = bench.preview("glob", pattern="*.py", path="src").text
    assert json.loads(text) == {"tool": "listFilesRecursive", "path": "src", "content": "*.py"}


def test_a_file_whose_path_is_too_long_to_be_opened_does_not_hide_the_others(bench: Workbench, tmp_path: Path) -> None:
    """Such a path can be made step by step, and was once a reason to find nothing at all."""
    make(tmp_path, "near.txt")
    step = "d" * 250
    deep = f"for step in {{1..20}}; do mkdir {step} && cd -P {step}; done; echo x > far.txt"
    subprocess.run(["/bin/bash", "-ec", deep], cwd=tmp_path, check=True)
    assert "near.txt" in found(bench, "**/*.txt")
    assert "near.txt" in bench.call("list_files", path=".", recursive=True).content
    assert "near.txt" in bench.call("search_files", path=".", regex="x").content


def test_a_pattern_that_begins_at_the_root_is_answered_with_the_call_that_finds_it(
    bench: Workbench, tmp_path: Path
) -> None:
    """Models write absolute patterns; where a call looks is judged by its path alone."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").touch()
    for pattern in (f"{tmp_path}/src/*.py", f"{tmp_path}/src/a.py", f"{tmp_path}/s*/a.py"):
        with pytest.raises(ToolError, match="Nothing was searched") as caught:
            bench.call("glob", pattern=pattern)
        named = json.loads(str(caught.value).partition(": glob ")[2])
        assert bench.call("glob", **named).content == "src/a.py"


def test_a_pattern_that_names_a_directory_says_so(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    assert "It is a directory: list it with list_files." in bench.call("glob", pattern="src").content
    assert "Try another pattern, or a directory above." in bench.call("glob", pattern="*.x", path="src").content
