"""An edit that quotes text without its indentation indents the new lines correctly, or changes nothing."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from robota.contracts.tool import ToolError
from tests.tools.workbench import Workbench

LEVELS = st.lists(st.integers(0, 3), min_size=2, max_size=7)
UNITS = ["    ", "  ", "\t"]


def by_edit_file(bench: Workbench, old: list[str], new: list[str]) -> None:
    bench.call("edit_file", path="f", old_string="\n".join(old), new_string="\n".join(new))


def by_edit_file_with_other_blanks(bench: Workbench, old: list[str], new: list[str]) -> None:
    """The words of the first line stand further apart in the quotation, so that lines do not match as they are."""
    by_edit_file(bench, *([line.replace("do 0", "do   0") for line in lines] for lines in (old, new)))


def by_apply_diff(bench: Workbench, old: list[str], new: list[str]) -> None:
    parts = ["<<<<<<< SEARCH", *old, "=======", *new, ">>>>>>> REPLACE"]
    bench.call("apply_diff", path="f", diff="\n".join(parts))


def by_apply_patch(bench: Workbench, old: list[str], new: list[str]) -> None:
    at = next(at for at, line in enumerate(new) if at >= len(old) or line != old[at])
    gone = old[at : len(old) - (len(new) - at - 1)]
    tail = old[at + len(gone) :]
    marked = [*(f" {line}" for line in old[:at]), *(f"-{line}" for line in gone), f"+{new[at]}"]
    lines = ["*** Begin Patch", "*** Update File: f", "@@", *marked, *(f" {line}" for line in tail), "*** End Patch"]
    bench.call("apply_patch", patch="\n".join(lines))


TOOLS: list[Callable[[Workbench, list[str], list[str]], None]] = [
    by_edit_file,
    by_edit_file_with_other_blanks,
    by_apply_diff,
    by_apply_patch,
]


def edited(tool: Callable[..., None], lines: list[str], old: list[str], new: list[str]) -> list[str] | None:
    """The lines of the file afterwards; None if the edit was refused, and then nothing changed."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "f")
        before = "".join(f"{line}\n" for line in lines)
        file.write_text(before)
        try:
            tool(Workbench(Path(folder)), old, new)
        except ToolError:
            assert file.read_text() == before
            return None
        return file.read_text().split("\n")[:-1]


@pytest.mark.parametrize("tool", TOOLS)
@given(levels=LEVELS, unit=st.sampled_from(UNITS), data=st.data())
def test_whatever_indentation_was_lost_one_changed_line_is_all_that_changes(
    tool: Callable[..., None], levels: list[int], unit: str, data: st.DataObject
) -> None:
    """Each line loses as much as it likes; the new line as much as the one that it replaces."""
    lines = [f"{unit * level}do {number}" for number, level in enumerate(levels)]
    lost = [data.draw(st.integers(0, len(unit) * level)) for level in levels]
    at = data.draw(st.integers(1, len(lines) - 1))
    old = [line[count:] for line, count in zip(lines, lost, strict=True)]
    new = [*old[:at], old[at].replace("do", "done"), *old[at + 1 :]]
    result = edited(tool, lines, old, new)
    assert result == [*lines[:at], f"{unit * levels[at]}done {at}", *lines[at + 1 :]]


@pytest.mark.parametrize("tool", TOOLS)
@given(levels=LEVELS, unit=st.sampled_from(UNITS), written=st.sampled_from(UNITS), data=st.data())
def test_where_the_quotation_has_an_indentation_of_its_own_a_new_line_is_right_or_refused(
    tool: Callable[..., None], levels: list[int], unit: str, written: str, data: st.DataObject
) -> None:
    """Moved to the left or right, or written with other units: the new line too."""
    moved = data.draw(st.integers(-min(levels), 2))
    # How other units grow cannot be known from every quotation.
    level = data.draw(st.integers(min(levels), 3) if unit == written else st.sampled_from(levels))
    lines = [f"{unit * each}do {number}" for number, each in enumerate(levels)]
    old = [f"{written * (each + moved)}do {number}" for number, each in enumerate(levels)]
    assume(old != lines)
    at = data.draw(st.integers(1, len(lines)))
    new = [*old[:at], f"{written * (level + moved)}new", *old[at:]]
    result = edited(tool, lines, old, new)
    assert result in (None, [*lines[:at], f"{unit * level}new", *lines[at:]])
    assert result is not None or level not in levels


@pytest.mark.parametrize("tool", TOOLS)
@given(levels=LEVELS, data=st.data())
def test_a_flat_quotation_never_moves_lines_and_never_guesses(
    tool: Callable[..., None], levels: list[int], data: st.DataObject
) -> None:
    """All indentation is lost. A new line is indented like both of its neighbours, or the edit is refused."""
    lines = [f"{'    ' * level}do {number}" for number, level in enumerate(levels)]
    old = [line.strip() for line in lines]
    assume("\n".join(old) not in "\n".join(lines))
    at = data.draw(st.integers(1, len(lines) - 1))
    result = edited(tool, lines, old, [*old[:at], "new", *old[at:]])
    if len(set(levels[at - 1 : at + 1])) == 1:
        assert result == [*lines[:at], f"{'    ' * levels[at]}new", *lines[at:]]
    else:
        assert result is None


def test_a_match_that_begins_within_a_line_does_not_move_the_others(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x = call(a,  [\n        b,\n    ])\n")
    with pytest.raises(ToolError, match="Copy the lines with their exact indentation"):
        bench.call("edit_file", path="f", old_string="call(a, [\n  b,\n])", new_string="call(a, [\n  c,\n])")
    bench.call(
        "edit_file", path="f", old_string="call(a, [\n        b,\n    ])", new_string="call(a, [\n        c,\n    ])"
    )
    assert (tmp_path / "f").read_text() == "x = call(a, [\n        c,\n    ])\n"
