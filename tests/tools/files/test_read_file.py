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
        ({"path": "big"}, "too large to be read as a whole"),
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


def test_a_text_too_long_for_one_result_is_cut_at_a_line_and_can_be_read_on(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_text(("w" * 1500 + "\n") * 100)
    content = bench.call("read_file", path="f").content
    assert len(content) < 100_000
    following = int(content.split("offset=")[1].split(" ")[0])
    assert content.endswith(f"{following - 1} | " + "w" * 1500)
    assert bench.call("read_file", path="f", offset=following).content.endswith("100 | " + "w" * 1500)


CODE = """\
import os


class First:
    def one(self):
        return 1

    # About two.
    @cached
    def two(self):
        if os.name:
            return 2

        return 3

    def three(self):
        return 4
"""


@pytest.mark.parametrize(
    ("indentation", "first", "last"),
    [
        ({"anchor_line": 12, "max_levels": 1}, 11, 14),
        ({"anchor_line": 12, "max_levels": 2}, 8, 16),
        ({"anchor_line": 12, "max_levels": 2, "include_header": False}, 10, 16),
        ({"anchor_line": 12, "max_levels": 2, "include_siblings": True}, 5, 17),
        ({"anchor_line": 12}, 4, 17),
        ({"anchor_line": 12, "max_lines": 1}, 12, 12),
        ({"anchor_line": 12, "max_lines": 3}, 11, 12),
    ],
)
def test_the_block_around_a_line(
    bench: Workbench, tmp_path: Path, indentation: dict[str, object], first: int, last: int
) -> None:
    (tmp_path / "f").write_text(CODE)
    content = bench.call("read_file", path="f", mode="indentation", indentation=indentation).content
    lines = content.split("\n")
    assert f"lines {first}-{last} of 17" in lines[1]
    assert (lines[2].split(" | ")[0].strip(), lines[-1].split(" | ")[0].strip()) == (str(first), str(last))


def test_a_block_beyond_the_end_is_refused(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a\n")
    with pytest.raises(ToolError, match="anchor_line"):
        bench.call("read_file", path="f", mode="indentation", indentation={"anchor_line": 2})


def test_bytes_that_are_no_text_are_shown_so_that_they_can_be_sent(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes("äöü ".encode() + b"\xff\n")
    assert bench.call("read_file", path="f").content == "File: f\n1 | äöü \ufffd"


def test_an_ignored_file_is_refused(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / ".robotaignore").write_text("*.key\n")
    (tmp_path / "a.key").write_text("secret")
    with pytest.raises(ToolError, match="hidden from you"):
        bench.call("read_file", path="a.key")
