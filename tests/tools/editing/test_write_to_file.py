"""Writing files as a model does."""

import json
import os
from pathlib import Path

import pytest

from robota.contracts.tool import ToolError
from robota.protocol.views import DiffView
from tests.tools.workbench import Workbench


def test_content_is_written_exactly_as_given(bench: Workbench, tmp_path: Path) -> None:
    content = "```html\n&lt;b&gt; &amp; “quotes”\n```"
    result = bench.call("write_to_file", path="new/page.md", content=content)
    assert (tmp_path / "new/page.md").read_text() == content
    assert result.content == "Created new/page.md (+3 -0 lines)."
    assert isinstance(result.view, DiffView)
    assert (result.view.is_new, result.view.added, result.view.removed) == (True, 3, 0)


def test_an_existing_file_keeps_mark_and_line_endings(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbfold\r\n")
    bench.call("read_file", path="f")
    result = bench.call("write_file", path="f", content="new\nlines\n").content
    assert (tmp_path / "f").read_bytes() == b"\xef\xbb\xbfnew\r\nlines\r\n"
    assert result.startswith("Changed f (+2 -1 lines).") and "byte order mark, CRLF" in result


def test_a_latin_1_file_stays_one_or_is_left_alone(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"caf\xe9\n")
    bench.call("read_file", path="f")
    bench.call("write_to_file", path="f", content="déjà\n")
    assert (tmp_path / "f").read_bytes() == b"d\xe9j\xe0\n"
    with pytest.raises(ToolError, match="Nothing was written"):
        bench.call("write_to_file", path="f", content="→\n")
    assert (tmp_path / "f").read_bytes() == b"d\xe9j\xe0\n"


def test_the_ask_shows_the_difference_and_changes_nothing(bench: Workbench, tmp_path: Path) -> None:
    old = "".join(f"{n}\n" for n in range(1, 21))
    (tmp_path / "f").write_text(old)
    bench.call("read_file", path="f")
    new = old.replace("10\n", "ten\n")
    preview = bench.preview("write_to_file", path="f", content=new)
    say = json.loads(preview.text)
    assert (preview.ask, say["tool"], say["path"]) == ("tool", "editedExistingFile", "f")
    assert say["diffStats"] == {"added": 1, "removed": 1}
    assert say["diff"] == "@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n"
    assert isinstance(preview.view, DiffView)
    assert (tmp_path / "f").read_text() == old


def test_the_ask_for_a_new_file_makes_nothing(bench: Workbench, tmp_path: Path) -> None:
    say = json.loads(bench.preview("write_to_file", path="a/b", content="x\n").text)
    assert say == {
        "tool": "newFileCreated",
        "path": "a/b",
        "diff": "@@ -0,0 +1,1 @@\n+x\n",
        "diffStats": {"added": 1, "removed": 0},
    }
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("path", "message"), [("bin", "binary"), (".", "directory"), ("../x", "outside"), ("ro", "pro")]
)
def test_what_must_not_be_overwritten_is_left_alone(bench: Workbench, tmp_path: Path, path: str, message: str) -> None:
    (tmp_path / "bin").write_bytes(b"\0\1")
    (tmp_path / "ro").touch(mode=0o444)
    bench.call("read_file", path="ro")
    with pytest.raises(ToolError, match=message):
        bench.call("write_to_file", path=path, content="x")
    assert (tmp_path / "bin").read_bytes() == b"\0\1"


def test_other_hard_links_are_mentioned(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    os.link(tmp_path / "a", tmp_path / "b")
    bench.call("read_file", path="a")
    assert "hard links" in bench.call("write_to_file", path="a", content="new").content
    assert (tmp_path / "b").read_text() == "old"


def test_a_file_that_was_never_read_is_not_overwritten(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("precious")
    for attempt in (bench.call, bench.preview):
        with pytest.raises(ToolError, match="read_file first"):
            attempt("write_to_file", path="f", content="x")
    assert (tmp_path / "f").read_text() == "precious"


def test_a_file_changed_since_it_was_read_is_not_overwritten(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old")
    bench.call("read_file", path="f")
    (tmp_path / "f").write_text("theirs")
    with pytest.raises(ToolError, match="Read it again"):
        bench.call("write_to_file", path="f", content="ours")
    assert (tmp_path / "f").read_text() == "theirs"
    bench.call("read_file", path="f")
    bench.call("write_to_file", path="f", content="ours")
    bench.call("write_to_file", path="f", content="ours again")
    assert (tmp_path / "f").read_text() == "ours again"


def test_unchanged_lines_of_a_file_with_mixed_endings_keep_theirs(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a\r\nb\nc\rd\r\n")
    bench.call("read_file", path="f")
    bench.call("write_to_file", path="f", content="new\na\nb\nC\nd\n")
    assert (tmp_path / "f").read_bytes() == b"new\r\na\r\nb\nC\rd\r\n"


def test_an_ignored_path_is_refused(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / ".robotaignore").write_text("*.key\n")
    with pytest.raises(ToolError, match="hidden from you"):
        bench.call("write_to_file", path="a.key", content="x")
    assert not (tmp_path / "a.key").exists()


def test_a_file_that_another_program_made_meanwhile_is_left_alone(bench: Workbench, tmp_path: Path) -> None:
    written = bench.prepare("write_to_file", path="f", content="new\n")
    (tmp_path / "f").write_text("by somebody else\n")
    with pytest.raises(ToolError, match=r"already exists and was left unchanged\. Read it"):
        bench.run(written)
    assert (tmp_path / "f").read_text() == "by somebody else\n"
