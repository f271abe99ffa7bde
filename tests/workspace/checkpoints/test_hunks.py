"""Taking back single changes of a file, byte by byte."""

from itertools import chain, combinations
from pathlib import Path

import pytest

from robota.protocol.unified_diff import paths_in
from robota.workspace.checkpoints.private_git import CheckpointError
from robota.workspace.checkpoints.rewind import carry_out, plan_restore
from robota.workspace.checkpoints.store import CheckpointStore

BETWEEN = b"".join(b"line %d\n" % number for number in range(12))
# What each place had before, and has now.
PLACES = (
    (b"one\n", b"uno\n"),
    (b"", b"inserted\r\nand more\r\n"),
    (b"latin \xe9\n", b""),
    (b"the end", b"the end\n"),
)
SUBSETS = tuple(chain.from_iterable(combinations(range(4), count) for count in range(1, 5)))


@pytest.mark.parametrize("hunks", SUBSETS)
def test_chosen_changes_are_taken_back_and_the_others_stay(
    store: CheckpointStore, workspace: Path, hunks: tuple[int, ...]
) -> None:
    file = workspace / "a b.txt"
    file.write_bytes(BETWEEN.join(before for before, _ in PLACES))
    file.chmod(0o750)
    first = store.capture()
    file.write_bytes(BETWEEN.join(now for _, now in PLACES))
    (workspace / "other.txt").write_text("stays")
    plan = plan_restore(store, first.id, ["a b.txt"], hunks)
    assert [change.path for change in plan.changes] == ["a b.txt"]
    carry_out(store, plan)
    expected = [before if index in hunks else now for index, (before, now) in enumerate(PLACES)]
    assert file.read_bytes() == BETWEEN.join(expected)
    assert file.stat().st_mode & 0o777 == 0o750
    assert (workspace / "other.txt").read_text() == "stays"


def test_a_new_file_is_one_change_and_a_change_that_is_not_there_is_refused(
    store: CheckpointStore, workspace: Path
) -> None:
    first = store.capture()
    (workspace / "new").write_text("1\n")
    for hunks in ((1,), (-1,), (0, 7)):
        with pytest.raises(CheckpointError, match="no such changes"):
            plan_restore(store, first.id, ["new"], hunks)
    carry_out(store, plan_restore(store, first.id, ["new"], (0,)))
    assert not (workspace / "new").exists()
    with pytest.raises(CheckpointError, match="no such changes"):
        plan_restore(store, first.id, ["new"], (0,))


@pytest.mark.parametrize(
    "name", ["plain", "two words", "tab\there", 'quo"te', "ümläut", 'ü"', "back\\slash", "line\nend", " b"]
)
@pytest.mark.parametrize("is_deleted", [False, True])
def test_the_paths_of_a_diff_are_those_of_the_files(
    store: CheckpointStore, workspace: Path, name: str, is_deleted: bool
) -> None:
    (workspace / name).write_text("1\n")
    with_file = store.capture().id
    (workspace / name).unlink()
    without = store.capture().id
    diff = store.diff(with_file, without) if is_deleted else store.diff(without, with_file)
    assert paths_in(diff.decode()) == (name,)
