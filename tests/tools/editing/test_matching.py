"""Lines are found in a file whether or not it is split for that."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from robota.tools.editing.matching import Match, SearchedLines
from robota.workspace.files.files import FileData
from robota.workspace.text.source import SourceText

FEW_LINES = st.lists(st.sampled_from(["a", "b", "", "ab"]), max_size=10)


@given(FEW_LINES, st.sampled_from(["", "\n", "\n\n"]), FEW_LINES, st.integers(-1, 6), st.none() | st.integers(0, 11))
def test_exact_places_are_all_places(
    written: list[str], ending: str, wanted: list[str], start: int, end: int | None
) -> None:
    wanted = wanted[:3]
    source = SourceText(FileData(path=Path("f"), data=("\n".join(written) + ending).encode(), stamp=()))
    lines = source.lines
    last = len(lines) if end is None else min(end, len(lines))
    places = [at for at in range(max(start, 0), last - len(wanted) + 1) if lines[at : at + len(wanted)] == wanted]
    assert SearchedLines(source).places(wanted, Match.EXACT, start, end) == (places if wanted else [])
    assert SearchedLines(source).places(wanted, Match.TRAILING_BLANKS, start, end) == (places if wanted else [])
