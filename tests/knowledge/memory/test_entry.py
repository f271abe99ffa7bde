"""Lines of memory files: nothing is lost, and entries survive a round trip."""

import string

from hypothesis import example, given
from hypothesis import strategies as st

from robota.knowledge.memory.entry import (
    MemoryEntry,
    MemoryOrigin,
    MemoryType,
    is_valid_check,
    is_valid_file,
    memory_lines,
    normalised,
    topic_slug,
)

texts = st.text(max_size=80).map(normalised).filter(bool)
origins = st.builds(
    MemoryOrigin,
    st.text(string.ascii_letters + string.digits + "._-", min_size=1, max_size=20),
    st.integers(min_value=0, max_value=10**15),
)
entries = st.builds(
    MemoryEntry,
    date=st.dates().map(lambda day: day.isoformat()),
    type=st.sampled_from(MemoryType),
    topic=st.text(max_size=100).map(topic_slug),
    text=texts,
    origin=st.none() | origins,
    files=st.lists(st.text(min_size=1, max_size=20).map(str.strip).filter(is_valid_file), max_size=3).map(tuple),
    check=st.none() | st.text(max_size=40).map(str.strip).filter(is_valid_check),
)


@given(st.lists(st.text() | entries.map(lambda entry: f"{entry.line}\n")).map("".join))
@example("- [2026-13-45] (project/x) no such day\r\n- [2026-01-01] (odd/x) no such type")
@example("- [2026-01-01] (project/x) text <!-- from: nowhere; run: -->")
@example("\x85- [2026-01-01] (project/x) \x1c\u2028")
def test_parsing_a_memory_file_loses_nothing(document: str) -> None:
    assert "".join(line.text for line in memory_lines(document)) == document


@given(entries)
def test_an_entry_is_read_back_as_it_was_written(entry: MemoryEntry) -> None:
    [line] = memory_lines(f"{entry.line}\n")
    assert line.entry == entry


@given(st.text())
def test_a_topic_slug_is_a_valid_file_name(words: str) -> None:
    slug = topic_slug(words)
    assert slug and len(slug) <= 80 and "/" not in slug and not slug.startswith((".", "-"))


def test_other_lines_and_comments_are_kept_as_text() -> None:
    [heading, plain, odd] = memory_lines("# Notes\n- a plain item\n- [2026-01-01] (user/x) Tabs <!-- why: taste -->\n")
    assert heading.entry is None and plain.entry is None
    assert odd.entry is not None and odd.entry.text == "Tabs <!-- why: taste -->" and odd.entry.check is None
