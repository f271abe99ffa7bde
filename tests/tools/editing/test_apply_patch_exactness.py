"""What a patch does not mention keeps its bytes."""

import stat
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.contracts.tool import ToolError
from tests.tools.editing.written_files import ENCODINGS, ENDINGS, written
from tests.tools.workbench import Workbench

LINES = ["café ÿ", "second", "third", "fourth", "übel"]
BODY = [*("@@", "@@ a", "@@ b", " a", "-a", "+a", "+x", " ", "", "-", "   a", "- ", "-b", "*** End of File"), "?"]
TEXTS = ["", "a", "  a", "\ta", "a  ", "-", "+", "@@", "*** End Patch", "*** End of File", " ", "\\"]


def patch(body: str) -> str:
    return f"*** Begin Patch\n{body}*** End Patch\n"


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("endings", ENDINGS)
def test_encodings_and_endings(bench: Workbench, tmp_path: Path, encoding: str, endings: str) -> None:
    (tmp_path / "f").write_bytes(written(LINES, ENDINGS[endings], encoding))
    bench.call("apply_patch", patch=patch("*** Update File: f\n@@\n second\n-third\n+3rd\n fourth\n"))
    changed = ["café ÿ", "second", "3rd", "fourth", "übel"]
    assert (tmp_path / "f").read_bytes() == written(changed, ENDINGS[endings], encoding)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_moved_file_keeps_its_bytes(bench: Workbench, tmp_path: Path, encoding: str) -> None:
    data = written(LINES, ENDINGS["mixed"], encoding)
    (tmp_path / "f").write_bytes(data)
    bench.call("apply_patch", patch=patch("*** Update File: f\n*** Move to: g\n"))
    assert (tmp_path / "g").read_bytes() == data
    assert not (tmp_path / "f").exists()


def test_a_moved_file_keeps_its_mode(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("echo 1\n")
    (tmp_path / "run.sh").chmod(0o755)
    bench.call("apply_patch", patch=patch("*** Update File: run.sh\n*** Move to: bin/go.sh\n-echo 1\n+echo 2\n"))
    assert (tmp_path / "bin/go.sh").read_text() == "echo 2\n"
    assert stat.S_IMODE((tmp_path / "bin/go.sh").stat().st_mode) == 0o755


def test_bytes_that_are_no_text_survive(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"ok \xc3\xa9\r\nbad \x80\xfe\nx\r\n")
    bench.call("apply_patch", patch=patch("*** Update File: f\n@@\n-x\n+y\n"))
    assert (tmp_path / "f").read_bytes() == b"ok \xc3\xa9\r\nbad \x80\xfe\ny\r\n"


@given(st.data())
def test_any_patch_gives_exactly_the_expected_text(data: st.DataObject) -> None:
    """Chunks of kept, removed and added lines, in a file none of whose lines stands there twice."""
    count = data.draw(st.integers(2, 12))
    lines = [f"{data.draw(st.sampled_from(TEXTS))}#{number}" for number in range(count)]
    endings = [data.draw(st.sampled_from(["\n", "\r\n"])) for _ in lines]
    places = sorted(data.draw(st.sets(st.integers(0, count), min_size=2, max_size=6)))
    body: list[str] = []
    expected: list[str] = []
    done = 0
    for start, end in zip(places[::2], places[1::2], strict=False):
        chunk = data.draw(chunk_of(lines[start:end]))
        body += ["@@", *chunk]
        expected += [*lines[done:start], *(line[1:] for line in chunk if line[0] != "-")]
        done = end
    expected += lines[done:]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "f")
        file.write_bytes("".join(map("".join, zip(lines, endings, strict=True))).encode())
        text = patch("\n".join(["*** Update File: f", *body, ""]))
        Workbench(Path(folder)).call("apply_patch", patch=text)
        after = file.read_bytes()
    assert after.decode().replace("\r\n", "\n") == "".join(f"{line}\n" for line in expected)
    kept = dict(zip(lines, endings, strict=True))
    ended = after.decode().splitlines(keepends=True)
    assert all(line.endswith(kept[bare]) for line in ended if (bare := line.rstrip("\r\n")) in kept)


@st.composite
def chunk_of(draw: st.DrawFn, lines: list[str]) -> list[str]:
    """Marked lines over these lines of a file, with something new among them."""
    marked: list[str] = []
    for line in lines:
        marked.append(f"{draw(st.sampled_from(' -'))}{line}")
        marked += [f"+{text}" for text in draw(st.lists(st.sampled_from(TEXTS), max_size=2))]
    return [*marked, "+new"]


@given(st.lists(st.sampled_from(BODY), max_size=14))
def test_whatever_a_patch_says_it_is_done_or_nothing_is(lines: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "f")
        file.write_text("a\n  a\n\nb\na \n")
        try:
            Workbench(Path(folder)).call("apply_patch", patch=patch("\n".join(["*** Update File: f", *lines, ""])))
        except ToolError as refused:
            assert "Nothing was changed" in str(refused)
            assert file.read_text() == "a\n  a\n\nb\na \n"
        else:
            assert file.read_text() != "a\n  a\n\nb\na \n"
