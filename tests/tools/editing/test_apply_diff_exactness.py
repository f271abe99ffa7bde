"""What a diff does not mention keeps its bytes."""

import re
import stat
import tempfile
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from robota.contracts.tool import ToolError
from tests.tools.editing.written_files import ENCODINGS, ENDINGS, written
from tests.tools.workbench import Workbench

LINES = ["café ÿ", "second", "third", "fourth", "übel"]
BLOCK = ("<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE")
BODY = [
    "a\n=======\nx",
    "\n".join([BLOCK[0], "a", BLOCK[1], "x", BLOCK[2]]),
    *BLOCK,
    *BLOCK,
    ":start_line:2",
    "a",
    "b",
    "",
    "  a",
    "-------",
    "4 | b",
]
MARKER = re.compile(r"\\*(?:<<<<<<<|=======|>>>>>>>|-------|:start_line:|:end_line:)")
TRAPS = [
    *("", "a", "b", "  a", "\ta", "a  ", "}", "1 | x", "2 |", "\\", "—", "&lt;"),
    *(
        "<<<<<<< SEARCH",
        "<<<<<<< HEAD",
        "=======",
        ">>>>>>> REPLACE",
        ">>>>>>> x",
        "-------",
        ":start_line:3",
        "\\=======",
    ),
]
some_lines = st.lists(st.sampled_from(TRAPS), max_size=4)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("endings", ENDINGS)
def test_encodings_and_endings(bench: Workbench, tmp_path: Path, encoding: str, endings: str) -> None:
    (tmp_path / "f").write_bytes(written(LINES, ENDINGS[endings], encoding))
    bench.call("apply_diff", path="f", diff=block(["second", "third"], ["second", "3rd"]))
    changed = ["café ÿ", "second", "3rd", "fourth", "übel"]
    assert (tmp_path / "f").read_bytes() == written(changed, ENDINGS[endings], encoding)


@pytest.mark.parametrize("endings", ["LF", "CRLF", "CR"])
def test_new_lines_end_like_the_others(bench: Workbench, tmp_path: Path, endings: str) -> None:
    end = ENDINGS[endings][0]
    (tmp_path / "f").write_bytes(f"a{end}b{end}c{end}".encode())
    bench.call("apply_diff", path="f", diff=block(["b"], ["b1", "b2", "b3"]))
    assert (tmp_path / "f").read_bytes() == f"a{end}b1{end}b2{end}b3{end}c{end}".encode()


def test_bytes_that_are_no_text_survive(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"ok \xc3\xa9\r\nbad \x80\xfe\nx\r\n")
    bench.call("apply_diff", path="f", diff=block(["x"], ["y"]))
    assert (tmp_path / "f").read_bytes() == b"ok \xc3\xa9\r\nbad \x80\xfe\ny\r\n"


def test_mode_and_link_survive(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "real.sh").write_text("a\n")
    (tmp_path / "real.sh").chmod(0o750)
    (tmp_path / "link").symlink_to("real.sh")
    bench.call("apply_diff", path="link", diff=block(["a"], ["b"]))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real.sh").read_text() == "b\n"
    assert stat.S_IMODE((tmp_path / "real.sh").stat().st_mode) == 0o750


@given(st.data())
def test_any_edit_gives_exactly_the_expected_text(data: st.DataObject) -> None:
    lines = data.draw(st.lists(st.sampled_from(TRAPS), min_size=1, max_size=12))
    endings = [data.draw(st.sampled_from(["\n", "\r\n"])) for _ in lines]
    places = sorted(data.draw(st.sets(st.integers(0, len(lines)), min_size=2, max_size=6)))
    spans = [(start, end, data.draw(some_lines)) for start, end in zip(places[::2], places[1::2], strict=False)]
    for start, end, new in spans:
        assume(any(line.strip() for line in lines[start:end]) and lines[start:end] != new)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "f")
        file.write_bytes("".join(map("".join, zip(lines, endings, strict=True))).encode())
        before = file.read_bytes()
        diff = "".join(block(lines[start:end], new, start + 1) for start, end, new in reversed(spans))
        Workbench(Path(folder)).call("apply_diff", path="f", diff=diff)
        after = file.read_bytes()
    expected = list(lines)
    for start, end, new in reversed(spans):
        expected[start:end] = new
    assert after.decode().replace("\r\n", "\n") == "".join(f"{line}\n" for line in expected)
    assert after.startswith(before[: size(lines, endings, 0, spans[0][0])])
    tail = size(lines, endings, spans[-1][1], len(lines))
    assert after.endswith(before[len(before) - tail :])


def size(lines: list[str], endings: list[str], start: int, end: int) -> int:
    return len("".join([*lines[start:end], *endings[start:end]]).encode())


def block(search: list[str], replace: list[str], start_line: int | None = None) -> str:
    """A block as a careful model writes it: what looks like a marker is escaped."""
    head = [f":start_line:{start_line}", "-------"] if start_line else []
    parts = ["<<<<<<< SEARCH", *head, *map(escaped, search), "=======", *map(escaped, replace), ">>>>>>> REPLACE", ""]
    return "\n".join(parts)


def escaped(line: str) -> str:
    return f"\\{line}" if MARKER.match(line) else line


@given(st.lists(st.sampled_from(BODY), max_size=16))
def test_whatever_a_diff_says_it_is_done_or_nothing_is(lines: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "f")
        file.write_text("a\n  a\n\nb\na \n")
        try:
            Workbench(Path(folder)).call("apply_diff", path="f", diff="\n".join(lines))
        except ToolError as refused:
            assert "Nothing was changed" in str(refused)
            assert file.read_text() == "a\n  a\n\nb\na \n"
        else:
            assert file.read_text() != "a\n  a\n\nb\na \n"
