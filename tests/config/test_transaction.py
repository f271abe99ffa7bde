"""Files that several processes share are changed all together or not at all, and nothing is left behind."""

import os
import shutil
import signal
import stat
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from robota.config.transaction import JOURNAL, finish_interrupted, is_draft, remove_leftovers, transaction

# What a kill between two of them could tear apart.
CHANGING = {"os.rename", "os.remove", "os.mkdir", "open"}
OLD = {"a": "old a", "inner/b": "old b", "gone": "old"}
NEW = {"a": "new a", "inner/b": "new b", "inner/c": "new c", "moved/in it": "in it"}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with some files, and one that waits to be moved there."""
    directory = tmp_path / "shared"
    for name, text in {**OLD, "staging/in it": "in it"}.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
    return directory


def change(place: Path, journal: Path) -> None:
    with transaction(place, journal=journal, inside=("inner",)) as files:
        files.move("staging", "moved")
        files.write("a", b"new a")
        files.write("inner/b", b"new b")
        files.write("inner/c", b"new c")
        files.remove("gone")


def content(place: Path) -> dict[str, str]:
    found = {str(file.relative_to(place)): file.read_text() for file in place.rglob("*") if file.is_file()}
    return {name: text for name, text in found.items() if not name.startswith("staging/")}


def killed_before(number: int, work: Callable[[], None]) -> bool:
    """Do it in another process, which is killed before its so many-th change; False if it made fewer."""
    left = number

    def count(event: str, _: object) -> None:
        nonlocal left
        if event in CHANGING:
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        code = 1
        try:
            sys.addaudithook(count)
            work()
            code = 0
        finally:
            os._exit(code)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in {0, -signal.SIGKILL}
    return status != 0


def test_a_change_is_made_all_at_once(place: Path, tmp_path: Path) -> None:
    change(place, tmp_path / JOURNAL)
    assert content(place) == NEW
    assert not (tmp_path / JOURNAL).exists()
    assert stat.S_IMODE((place / "a").stat().st_mode) == 0o600


def test_a_change_that_is_killed_anywhere_is_made_later_or_never(place: Path, tmp_path: Path) -> None:
    """Each time at another point, until it is not killed any more; once decided, it is always made."""
    outcomes = []
    number = 0
    while True:
        copy = tmp_path / f"copy-{number}"
        (tmp_path / "user").mkdir(exist_ok=True)
        journal = tmp_path / "user" / f"journal-{number}.json"
        shutil.copytree(place, copy)
        if not killed_before(number, partial(change, copy, journal)):
            break
        remove_leftovers(copy, journal=journal, inside=("inner",))
        assert content(copy) in (OLD, NEW), f"killed before change {number}"
        assert list((tmp_path / "user").iterdir()) == []
        outcomes.append(content(copy) == NEW)
        number += 1
    assert outcomes == sorted(outcomes)
    assert {False, True} <= set(outcomes)


def interrupted(place: Path, journal: Path) -> None:
    """A change that was decided, by a process that was killed before it made it."""
    number = 0
    while not journal.exists():
        assert killed_before(number, partial(change, place, journal))
        number += 1
    assert content(place) != NEW


def test_the_next_reader_finishes_a_decided_change(place: Path, tmp_path: Path) -> None:
    journal = tmp_path / JOURNAL
    interrupted(place, journal)
    finish_interrupted(place, journal)
    assert content(place) == NEW and not journal.exists()


def test_a_writer_reads_what_an_interrupted_one_had_decided(place: Path, tmp_path: Path) -> None:
    journal = tmp_path / JOURNAL
    interrupted(place, journal)
    with transaction(place, journal=journal, inside=("inner",)) as files:
        assert (files.read("inner/c"), files.read("gone")) == (b"new c", None)


def test_an_interrupted_change_is_not_made_in_another_directory_of_the_same_name(place: Path, tmp_path: Path) -> None:
    journal = tmp_path / JOURNAL
    interrupted(place, journal)
    place.rename(tmp_path / "aside")
    place.mkdir()
    (place / "gone").write_text("another")
    finish_interrupted(place, journal)
    assert content(place) == {"gone": "another"} and not journal.exists()


def test_a_damaged_journal_stops_writers_and_is_named(place: Path, tmp_path: Path) -> None:
    journal = tmp_path / JOURNAL
    journal.write_text("{")
    with pytest.raises(OSError, match="is damaged; remove it"):
        change(place, journal)
    finish_interrupted(place, journal)
    assert content(place) == OLD


def test_an_error_changes_nothing_and_leaves_nothing(place: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="changed my mind"), transaction(place) as files:
        files.write("a", b"new a")
        raise ValueError("changed my mind")
    (tmp_path / "elsewhere").mkdir()
    (place / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError), transaction(place, journal=tmp_path / JOURNAL) as files:
        files.write("a", b"new a")
        files.write("link/b", b"outside")
    assert content(place) == OLD
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert not (tmp_path / JOURNAL).exists()


def test_a_transaction_sees_its_own_changes(place: Path) -> None:
    with transaction(place) as files:
        assert files.read("missing") is None
        files.write("a", b"1")
        assert files.read("a") == b"1"
        files.remove("a")
        assert files.read("a") is None
        files.write("a", b"2", mode=0o644)
        assert files.read("a") == b"2"
    assert (place / "a").read_bytes() == b"2"
    assert stat.S_IMODE((place / "a").stat().st_mode) == 0o644


def test_one_file_needs_no_journal(place: Path) -> None:
    with transaction(place) as files:
        files.remove("gone")
    with transaction(place) as files:
        files.remove("gone")
    assert not (place / "gone").exists()


def test_a_backup_holds_what_was_there(place: Path) -> None:
    with transaction(place) as files:
        assert files.keep_backup("missing") is None
        backup = files.keep_backup("a")
        files.write("a", b"new")
    assert backup == place / "a.bak"
    assert (place / "a.bak").read_text() == "old a"


def test_a_missing_directory_is_made_for_a_writer_only(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    finish_interrupted(missing, tmp_path / JOURNAL)
    remove_leftovers(missing, journal=tmp_path / JOURNAL)
    with pytest.raises(FileNotFoundError), transaction(missing, make=False):
        pass
    assert not missing.exists()
    with transaction(missing) as files:
        files.write("inner/a", b"1")
    assert content(missing) == {"inner/a": "1"}
    assert stat.S_IMODE(missing.stat().st_mode) == 0o700


def test_a_directory_without_a_journal_is_cleared_too(place: Path) -> None:
    (place / ".a.1.new").write_text("")
    for _ in range(2):
        remove_leftovers(place)
        assert content(place) == OLD


def test_the_drafts_of_killed_writers_are_removed_and_other_files_are_not(place: Path, tmp_path: Path) -> None:
    (tmp_path / "user").mkdir()
    journal = tmp_path / "user" / JOURNAL
    kept = [place / ".a.new", place / "a.1.new", place / ".a.1.old", journal.with_name(".other.json.1.new")]
    drafts = [place / ".a.1.new", place / "inner" / ".b.22.new", journal.with_name(f".{JOURNAL}.3.new")]
    for name in ("a", "inner", "journal"):
        for file in (*kept, *drafts):
            file.write_text("")
        only = {"a": drafts[0], "inner": drafts[1], "journal": drafts[2]}[name]
        for other in set(drafts) - {only}:
            other.unlink()
        remove_leftovers(place, journal=journal, inside=("inner",))
        assert not only.exists()
    assert all(file.exists() for file in kept)
    assert is_draft(".a\n.1.new") and not is_draft(".a.1.newer")
