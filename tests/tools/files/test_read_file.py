"""Reading files as a model does."""

import json
import os
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.contracts.tool import ToolError
from tests.tools.workbench import Workbench


def test_lines_are_numbered_from_the_right(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("".join(f"line {n}\n" for n in range(1, 11)))
    lines = bench.call("read_file", path="f").content.split("\n")
    assert lines == ["File: f", *(f"{n:>2} | line {n}" for n in range(1, 11))]


def test_a_cut_file_says_at_its_end_how_to_read_on(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x\n" * 5001)
    lines = bench.call("read_file", path="f").content.split("\n")
    assert lines[1] == "Showing lines 1-2000 of 5001 total lines."
    assert lines[-2:] == ["2000 | x", '[To read on: read_file {"path":"f","offset":2001}]']
    end = bench.call("read_file", path="f", offset=5001, limit=9).content
    assert end == "File: f\nShowing lines 5001-5001 of 5001 total lines.\n5001 | x"


def test_long_lines_are_cut(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("y" * 2001 + "\n" + "z" * 2000)
    _, first, second, rest = bench.call("read_file", path="f").content.split("\n")
    assert first == "1 | " + "y" * 1997 + "..."
    assert second == "2 | " + "z" * 2000
    assert rest.startswith("[Cut at 2000 characters: line 1. For the rest: read_command_output {")
    [name] = re.findall(r'"artifact_id":"(\w+)"', rest)
    assert "y" * 2001 in bench.call("read_command_output", artifact_id=name).content


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


def test_a_missing_file_is_answered_with_near_names_or_the_call_that_finds_it(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/Server.py").touch()
    with pytest.raises(ToolError, match=r"'src/sever.py' does not exist. Did you mean 'src/Server.py'\?"):
        bench.call("read_file", path="src/sever.py")
    with pytest.raises(ToolError, match=r'Find it with glob {"pattern":"\*\*/other.py"}'):
        bench.call("read_file", path="lib/other.py")


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


@given(
    lines=st.lists(st.integers(0, 3000).map(lambda size: "w" * size), min_size=1, max_size=60),
    limit=st.none() | st.integers(1, 70),
)
def test_what_a_cut_leaves_out_is_what_the_named_call_returns(lines: list[str], limit: int | None) -> None:
    """Follow the calls that the results name, and get every line that was asked for, once and in order."""
    with TemporaryDirectory() as place:
        bench = Workbench(Path(place))
        (Path(place) / "f").write_text("\n".join(lines))
        call: dict[str, object] | None = {"path": "f", **({} if limit is None else {"limit": limit})}
        seen: list[int] = []
        while call is not None:
            content = bench.call("read_file", **call).content
            assert len(content) <= 41_000
            numbers = [int(found) for found in re.findall(r"(?m)^ *(\d+) \| ", content)]
            claimed = re.search(r"Showing lines (\d+)-(\d+) of", content)
            if claimed is not None:
                assert numbers == list(range(int(claimed[1]), int(claimed[2]) + 1))
            seen += numbers
            following = re.search(r"To read on: read_file (\{.*\})\]", content)
            call = None if following is None else json.loads(following[1])
        total = len(lines) - (not lines[-1])  # an empty last line is no line
        assert seen == list(range(1, min(limit or total, total) + 1))


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
    ("arguments", "first", "last"),
    [({"around_line": 12}, 4, 17), ({"around_line": 12, "limit": 3}, 11, 12), ({"around_line": 1}, 1, 1)],
)
def test_the_block_around_a_line(
    bench: Workbench, tmp_path: Path, arguments: dict[str, object], first: int, last: int
) -> None:
    (tmp_path / "f").write_text(CODE)
    lines = bench.call("read_file", path="f", **arguments).content.split("\n")
    assert f"lines {first}-{last} of 17" in lines[1]
    assert (lines[2].split(" | ")[0].strip(), lines[-1].split(" | ")[0].strip()) == (str(first), str(last))


def test_a_block_beyond_the_end_is_refused(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a\n")
    with pytest.raises(ToolError, match="around_line"):
        bench.call("read_file", path="f", around_line=2)


def test_bytes_that_are_no_text_are_shown_so_that_they_can_be_sent(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes("äöü ".encode() + b"\xff\n")
    assert bench.call("read_file", path="f").content == "File: f\n1 | äöü \ufffd"


def test_an_ignored_file_is_refused(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / ".robotaignore").write_text("*.key\n")
    (tmp_path / "a.key").write_text("secret")
    with pytest.raises(ToolError, match="hidden from you"):
        bench.call("read_file", path="a.key")
