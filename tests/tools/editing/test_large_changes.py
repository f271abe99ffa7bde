"""Changes of megabytes: shown as far as somebody could read them, worked out beside the event loop."""

import asyncio
from pathlib import Path

import pytest

from robota.contracts.tool import ToolError
from robota.protocol.views import DiffView
from robota.tools.editing import diff
from tests.tools.workbench import Workbench

LINES = 60_000


@pytest.fixture
def large(tmp_path: Path) -> Path:
    place = tmp_path / "large.txt"
    place.write_text("".join(f"{number:08d} an old line of text\n" for number in range(LINES)))
    return place


def test_only_the_beginning_of_a_very_large_difference_is_shown(bench: Workbench, large: Path) -> None:
    """The numbers are those of the whole change, and a note says what is missing."""
    prepared = bench.prepare("edit_file", path="large.txt", old_string="old", new_string="new", replace_all=True)
    view = prepared.preview.view
    assert isinstance(view, DiffView)
    assert (view.added, view.removed) == (LINES, LINES)
    assert len(prepared.preview.text) < 4 * diff.MAX_SHOWN_CHARACTERS
    assert "more added lines are not shown" in view.hunks[-1].lines[-1].text
    assert prepared.with_hunks is None
    assert f"Replaced {LINES} occurrences" in bench.run(prepared).content
    assert large.read_text() == "".join(f"{number:08d} an new line of text\n" for number in range(LINES))


def test_a_very_large_new_file_is_shown_in_part_and_written_whole(bench: Workbench, tmp_path: Path) -> None:
    content = "x" * 3_000_000 + "\n" + "y\n" * 100
    prepared = bench.prepare("write_to_file", path="new", content=content)
    assert len(prepared.preview.text) < 2 * diff.MAX_SHOWN_CHARACTERS
    bench.run(prepared)
    assert (tmp_path / "new").read_text() == content


def test_many_places_are_counted_and_only_some_named(bench: Workbench, large: Path) -> None:
    """Naming all of them would take time that grows with the square of their number."""
    with pytest.raises(ToolError, match=f"occurs {LINES} times .* 19, 20, …"):
        bench.call("edit_file", path="large.txt", old_string="old", new_string="new")


def test_a_large_change_leaves_the_event_loop_free_and_can_be_given_up(bench: Workbench, large: Path) -> None:
    async def story() -> None:
        arguments = {"path": "large.txt", "old_string": "old", "new_string": "new", "replace_all": True}
        working = asyncio.create_task(bench._prepared("edit_file", arguments))
        await asyncio.sleep(0)
        assert not working.done()
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working

    asyncio.run(story())
