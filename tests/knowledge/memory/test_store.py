"""The files of a memory: concurrent writers, damage and hostile repositories."""

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robota.knowledge.memory.candidates import MemoryCandidate
from robota.knowledge.memory.entry import MemoryEntry, MemoryType
from robota.knowledge.memory.memories import Memories, MemoryScope, NewEntry
from robota.knowledge.memory.session_memory import SessionMemory
from robota.knowledge.memory.store import MemoryProblem, MemoryStore

WRITER = """
import sys
from pathlib import Path
from tests.knowledge.memory.test_store import entry, store
for number in range(15):
    assert store(Path(sys.argv[1])).add(entry(f"{sys.argv[2]} says {number}"))
"""


def store(root: Path) -> MemoryStore:
    return MemoryStore(root, ".robota/memory", "# Project Memory", root / "journal", lambda: None)


def entry(text: str, topic: str = "build") -> MemoryEntry:
    return MemoryEntry(date="2026-01-01", type=MemoryType.PROJECT, topic=topic, text=text)


def candidate(text: str) -> MemoryCandidate:
    proposed = entry(text)
    return MemoryCandidate(id=proposed.id, entry=proposed, confidence=0.9, source="prompt")


def test_concurrent_writers_lose_nothing(tmp_path: Path) -> None:
    root = Path(__file__).parents[3]
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name], cwd=root) for name in ("a", "b", "c")
    ]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    texts = {each.text for each in store(tmp_path).read().entries}
    assert texts == {f"{name} says {number}" for name in "abc" for number in range(15)}
    topic = (tmp_path / ".robota/memory/topics/build.md").read_text()
    assert topic.count("says") == 45


def test_text_between_entries_is_kept_byte_for_byte(tmp_path: Path) -> None:
    index = tmp_path / ".robota/memory/MEMORY.md"
    index.parent.mkdir(parents=True)
    before = b"# Mine\r\n\r\nold bytes: \xff\xfe\r\nno end of line"
    index.write_bytes(before)
    assert store(tmp_path).add(entry("New."))
    assert index.read_bytes() == before + b"\n- [2026-01-01] (project/build) New.\n"
    store(tmp_path).forget(entry("New.").id)
    assert index.read_bytes() == before + b"\n"


def test_duplicate_texts_are_found_ignoring_case(tmp_path: Path) -> None:
    assert store(tmp_path).add(entry("Use tabs."))
    assert not store(tmp_path).add(entry("use TABS.", topic="style"))
    assert not store(tmp_path).propose(candidate("USE tabs."))


def test_a_rejected_candidate_is_never_proposed_again_and_an_approved_one_is_an_entry(tmp_path: Path) -> None:
    memory = store(tmp_path)
    assert memory.propose(candidate("One.")) and memory.propose(candidate("Two."))
    assert not memory.propose(candidate("One."))
    assert memory.decide(entry("One.").id, is_approved=False) is not None
    assert memory.decide(entry("Two.").id, is_approved=True) is not None
    assert not memory.propose(candidate("One.")) and not memory.propose(candidate("Two."))
    assert memory.candidates() == () and [each.text for each in memory.read().entries] == ["Two."]
    assert memory.decide(entry("Two.").id, is_approved=True) is None


@pytest.mark.parametrize("place", (".robota", ".robota/memory", ".robota/memory/topics", ".robota/memory/MEMORY.md"))
def test_links_in_a_repository_are_not_followed(tmp_path: Path, place: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    root = tmp_path / "work"
    (root / place).parent.mkdir(parents=True)
    target = outside / "MEMORY.md" if place.endswith(".md") else outside
    (root / place).symlink_to(target)
    with pytest.raises(MemoryProblem, match="Nothing was changed"):
        store(root).add(entry("Leak."))
    assert list(outside.iterdir()) == []


def test_special_and_huge_files_are_not_read(tmp_path: Path) -> None:
    directory = tmp_path / ".robota/memory"
    directory.mkdir(parents=True)
    os.mkfifo(directory / "MEMORY.md")
    with pytest.raises(MemoryProblem, match="not a plain file"):
        store(tmp_path).read()
    (directory / "MEMORY.md").unlink()
    (directory / "MEMORY.md").write_bytes(b"x" * (1024 * 1024 + 1))
    with pytest.raises(MemoryProblem, match="too long"):
        store(tmp_path).add(entry("More."))


@pytest.mark.parametrize("damage", (b"{", b'{"version": 1, "records": 5}', b"\xff", b"[" * 100_000))
def test_damaged_candidates_are_left_as_they_are_and_the_rest_works(tmp_path: Path, damage: bytes) -> None:
    pending = tmp_path / ".robota/memory/pending.json"
    pending.parent.mkdir(parents=True)
    pending.write_bytes(damage)
    with pytest.raises(MemoryProblem, match="not changed"):
        store(tmp_path).propose(candidate("One."))
    assert pending.read_bytes() == damage
    assert store(tmp_path).add(entry("Works."))


@settings(max_examples=25)
@given(st.binary(max_size=60) | st.recursive(st.none() | st.text(max_size=4), st.lists).map(json.dumps).map(str.encode))
def test_no_bytes_in_the_files_beside_the_entries_raise_anything_but_a_problem(data: bytes) -> None:
    with TemporaryDirectory() as top:
        directory = Path(top) / ".robota/memory"
        directory.mkdir(parents=True)
        for name in ("pending.json", "checks.json"):
            (directory / name).write_bytes(data)
        with suppress(MemoryProblem):
            store(Path(top)).propose(candidate("One."))
        store(Path(top)).failed_checks()
        assert store(Path(top)).add(entry("Works."))


def test_a_damaged_file_of_check_results_counts_as_empty(tmp_path: Path) -> None:
    (tmp_path / ".robota/memory").mkdir(parents=True)
    (tmp_path / ".robota/memory/checks.json").write_text(json.dumps({"mem_1": 5}))
    assert store(tmp_path).failed_checks() == {}


def test_a_check_that_fails_in_a_session_withdraws_its_entry(tmp_path: Path) -> None:
    memories = Memories(
        {MemoryScope.USER: store(tmp_path)}, tmp_path, lambda: True, lambda data: data, lambda: "2026-01-01"
    )
    new = NewEntry(type=MemoryType.PROJECT, topic="build", text="Run make.", scope=MemoryScope.USER, check="make -n")
    known = memories.add(new, None)
    memory = SessionMemory(memories, "session", saves_at_once=False)
    assert known is not None and "Run make." in memory.prompt_section("task")
    memories.record_checks(MemoryScope.USER, {known.entry.id: "exit code 2"}, [])
    recollection = memory.recall("task", "go on", 1)
    assert "Run make." in recollection.reminder and "exit code 2" in "".join(recollection.warnings)
    assert memory.recall("task", "go on", 2).reminder == ""
