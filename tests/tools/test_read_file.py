"""Reading files as a model does."""

import json
import os
from pathlib import Path

import pytest

from robota.contracts.tool import ToolError
from tests.tools.workbench import Workbench


def test_lines_are_numbered_from_the_right(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("".join(f"line {n}\n" for n in range(1, 11)))
    lines = bench.call("read_file", path="f").content.split("\n")
    assert lines == ["File: f", *(f"{n:>2} | line {n}" for n in range(1, 11))]


def test_a_cut_file_says_on_top_how_to_read_on(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x\n" * 5001)
    lines = bench.call("read_file", path="f").content.split("\n")
    assert "Showing lines 1-2000 of 5001 total lines" in lines[1]
    assert "offset=2001 and limit=2000" in lines[1]
    assert lines[-1] == "2000 | x"
    end = bench.call("read_file", path="f", offset=5001, limit=9).content
    assert end == "File: f\nShowing lines 5001-5001 of 5001 total lines.\n5001 | x"


def test_long_lines_are_cut(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("y" * 2001 + "\n" + "z" * 2000)
    _, first, second = bench.call("read_file", path="f").content.split("\n")
    assert first == "1 | " + "y" * 1997 + "..."
    assert second == "2 | " + "z" * 2000


def test_only_line_endings_end_a_line(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes("\ufeffa\r\nb\rc\x0cd\u2028e\n\n".encode())
    assert bench.call("read_file", path="f").content == "File: f\n1 | a\n2 | b\n3 | c\x0cd\u2028e\n4 | "


def test_an_empty_file_is_said_to_be_empty(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    assert "the file is empty" in bench.call("read_file", path="f").content


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"path": "binary"}, "binary"),
        ({"path": "."}, "list_files"),
        ({"path": "pipe"}, "named pipe"),
        ({"path": "../x"}, "outside the workspace"),
        ({"path": "gone"}, "does not exist"),
        ({"path": "short", "offset": 3}, "no line 3"),
        ({"path": "big"}, "at most"),
    ],
)
def test_what_cannot_be_read_is_explained(
    bench: Workbench, tmp_path: Path, arguments: dict[str, object], message: str
) -> None:
    (tmp_path / "binary").write_bytes(b"\x7fELF\0")
    (tmp_path / "short").write_text("1\n2\n")
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "big").open("wb") as big:
        big.truncate(1 << 30)
    with pytest.raises(ToolError, match=message):
        bench.call("read_file", **arguments)


def test_the_ask_names_path_and_range(bench: Workbench, tmp_path: Path) -> None:
    preview = bench.preview("read_file", path="f", offset=5, limit=10)
    assert preview.ask == "tool"
    assert json.loads(preview.text) == {
        "tool": "readFile",
        "path": "f",
        "content": str(tmp_path / "f"),
        "reason": "(lines 5-14)",
        "startLine": 5,
    }
