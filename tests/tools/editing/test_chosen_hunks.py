"""Only some hunks of a change: those are written, and no other byte differs."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.contracts.tool import ToolError
from robota.protocol.views import DiffView
from robota.tools.editing.change import hunk_edits
from robota.tools.editing.diff import difference
from robota.workspace.files.files import LocalFiles
from robota.workspace.text.source import SourceText
from tests.tools.workbench import Workbench

lines = st.lists(st.sampled_from(["a", "b", "c", "", "x y"]), max_size=30)


def text_of(rows: list[str]) -> str:
    return "".join(f"{row}\n" for row in rows)


@given(lines, lines)
def test_all_hunks_give_the_new_text_and_none_the_old(
    tmp_path_factory: pytest.TempPathFactory, old: list[str], new: list[str]
) -> None:
    place = tmp_path_factory.mktemp("hunks")
    (place / "f").write_text(text_of(old))
    source = SourceText(LocalFiles(place).read("f", 1000))
    view = difference("f", text_of(old), text_of(new)).view
    assert source.replace(hunk_edits(view, range(len(view.hunks)))).decode() == text_of(new)
    assert source.replace(hunk_edits(view, ())).decode() == text_of(old)


ROWS = [f"line {number}" for number in range(40)]
CHANGED = [*ROWS[:2], "FIRST", *ROWS[3:30], "SECOND", *ROWS[31:]]
DIFF = "".join(
    f"<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"
    for old, new in (("line 2", "FIRST"), ("line 30", "SECOND"))
)
PATCH = "*** Begin Patch\n*** Update File: f\n@@\n-line 2\n+FIRST\n@@\n-line 30\n+SECOND\n*** End Patch\n"
CALLS = {
    "write_to_file": {"path": "f", "content": text_of(CHANGED)},
    "apply_diff": {"path": "f", "diff": DIFF},
    "apply_patch": {"patch": PATCH},
}


@pytest.mark.parametrize("name", CALLS)
def test_every_tool_that_shows_hunks_lets_them_be_chosen(bench: Workbench, name: str) -> None:
    file = bench.cwd / "f"
    file.write_text(text_of(ROWS))
    bench.call("read_file", path="f")
    prepared = bench.prepare(name, **CALLS[name])
    assert isinstance(prepared.preview.view, DiffView) and len(prepared.preview.view.hunks) == 2
    assert prepared.with_hunks is not None
    bench.run(prepared.with_hunks([1]))
    assert file.read_text() == text_of([*ROWS[:30], "SECOND", *ROWS[31:]])


def test_a_new_file_is_one_piece(bench: Workbench) -> None:
    assert bench.prepare("write_to_file", path="new", content="x\n").with_hunks is None


@pytest.mark.parametrize("name", CALLS)
def test_what_was_shown_is_what_is_written_or_nothing_is(bench: Workbench, name: str) -> None:
    """The file changes while a user looks at the diff."""
    file = bench.cwd / "f"
    file.write_text(text_of(ROWS))
    bench.call("read_file", path="f")
    prepared = bench.prepare(name, **CALLS[name])
    file.write_text(f"somebody else\n{text_of(ROWS)}")
    with pytest.raises(ToolError, match="changed by another program"):
        bench.run(prepared)
    assert file.read_text() == f"somebody else\n{text_of(ROWS)}"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write_to_file", {"path": "new", "content": "mine\n"}),
        ("edit_file", {"path": "new", "old_string": "", "new_string": "mine\n"}),
        ("apply_patch", {"patch": "*** Begin Patch\n*** Add File: new\n+mine\n*** End Patch\n"}),
    ],
)
def test_a_file_that_came_to_be_meanwhile_is_left_as_it_is(
    bench: Workbench, name: str, arguments: dict[str, str]
) -> None:
    prepared = bench.prepare(name, **arguments)
    Path(bench.cwd / "new").write_text("theirs\n")
    with pytest.raises(ToolError, match="already exists"):
        bench.run(prepared)
    assert (bench.cwd / "new").read_text() == "theirs\n"
