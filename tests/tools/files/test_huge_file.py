"""Lines of files that are too large to be read as a whole."""

import asyncio
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.contracts.tool import ToolError
from robota.tools.files import huge_file
from robota.tools.files.huge_file import lines_of_huge_file
from robota.workspace.files.files import LocalFiles
from tests.tools.workbench import Workbench

TOO_BIG = 21 * 1024 * 1024


def large(file: Path, lines: int) -> None:
    with file.open("wb") as stream:
        for start in range(1, lines + 1, 10_000):
            stream.write(b"".join(b"line %08d of many\n" % number for number in range(start, start + 10_000)))


def test_a_slice_of_a_large_file_is_read_in_little_memory(bench: Workbench, tmp_path: Path) -> None:
    """The beginning, the middle and the end of a file over 20 MiB."""
    large(tmp_path / "f", 1_200_000)
    assert (tmp_path / "f").stat().st_size > TOO_BIG
    tracemalloc.start()
    content = bench.call("read_file", path="f", offset=1_100_000, limit=2).content
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "1100000 | line 01100000 of many\n1100001 | line 01100001 of many" in content
    assert '{"path":"f","offset":1100002,"limit":2}' in content and "too large to be edited" in content
    assert peak < TOO_BIG
    assert "1 | line 00000001" in bench.call("read_file", path="f", limit=1).content
    end = bench.call("read_file", path="f", offset=1_200_000).content
    assert end.endswith("Showing lines 1200000-1200000 of 1200000 total lines.\n1200000 | line 01200000 of many")
    with pytest.raises(ToolError, match="has 1200000 lines; there is no line 1200001"):
        bench.call("read_file", path="f", offset=1_200_001)


def test_what_is_no_text_is_not_shown_as_one(bench: Workbench, tmp_path: Path) -> None:
    """A part of a binary file, an image or a document is of no use."""
    for start in (b"\0", b"\xff\xfea\0"):
        (tmp_path / "f").write_bytes(start + b"x" * TOO_BIG)
        with pytest.raises(ToolError, match="Use a command"):
            bench.call("read_file", path="f")
    for start in (b"%PDF-1.7", b"\x89PNG\r\n\x1a\n"):
        (tmp_path / "f").write_bytes(start + b"x" * TOO_BIG)
        with pytest.raises(ToolError, match="at most"):
            bench.call("read_file", path="f")


def test_no_more_is_kept_than_can_be_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many lines are requested."""
    monkeypatch.setattr(huge_file, "MAX_KEPT_BYTES", 1_000)
    (tmp_path / "f").write_bytes(b"ten bytes\n" * 10_000)
    found = asyncio.run(lines_of_huge_file(LocalFiles(tmp_path), "f", 1, 1_000_000, 100))
    assert 100 <= len(found.lines) < 200 and found.total is None


def test_a_line_of_many_megabytes_is_cut(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a\n" + b"x" * TOO_BIG + b"\nlast")
    shown = bench.call("read_file", path="f").content.split("\n")
    assert [line[:8] for line in shown[-5:]] == ["1 | a", "2 | xxxx", "3 | last", "[Cut at ", "[Of line"]
    assert shown[-1] == "[Of line 2, 16,384 characters are kept. Use a command for more.]"
    assert all(len(line) < 2100 for line in shown)


@given(
    text=st.lists(st.sampled_from(["a", "é", "\n", "\r\n", "\n\n", "漢x"]), max_size=30).map("".join),
    first=st.integers(1, 12),
    count=st.integers(1, 12),
)
def test_piece_by_piece_gives_the_same_lines(
    tmp_path_factory: pytest.TempPathFactory, text: str, first: int, count: int
) -> None:
    """Wherever a piece ends, also within a character."""
    root = tmp_path_factory.mktemp("huge")
    (root / "f").write_bytes(text.encode())
    lines = text.replace("\r\n", "\n").split("\n")
    lines = lines[:-1] if lines[-1] == "" else lines
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(huge_file, "PIECE_BYTES", 3)
        found = asyncio.run(lines_of_huge_file(LocalFiles(root), "f", first, count, 100))
    assert found.lines == lines[first - 1 : first - 1 + count]
    assert found.total in (None, len(lines))
    assert found.total is not None or len(found.lines) == count
