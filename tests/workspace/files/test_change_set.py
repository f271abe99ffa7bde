"""Changes to several files that happen together or not at all."""

from pathlib import Path

import pytest

from robota.workspace.files.change_set import ChangesFailed, Remove, Write, make_changes
from robota.workspace.files.files import LocalFiles


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    (tmp_path / "a").write_text("old a")
    (tmp_path / "b").write_text("old b")
    return LocalFiles(tmp_path)


def test_all_changes_are_made(files: LocalFiles, tmp_path: Path) -> None:
    a, b = files.read("a", 100), files.read("b", 100)
    make_changes(
        files, [Remove(path="b", over=b), Write(path="a", data=b"new a", over=a), Write(path="d/c", data=b"new c")]
    )
    assert (tmp_path / "a").read_text() == "new a"
    assert (tmp_path / "d/c").read_text() == "new c"
    assert not (tmp_path / "b").exists()


def test_a_file_that_changed_meanwhile_stops_and_undoes_everything(files: LocalFiles, tmp_path: Path) -> None:
    a, b = files.read("a", 100), files.read("b", 100)
    (tmp_path / "b").write_text("by somebody else")
    with pytest.raises(ChangesFailed, match="nothing is changed"):
        make_changes(files, [Write(path="a", data=b"new a", over=a), Write(path="b", data=b"new b", over=b)])
    assert (tmp_path / "a").read_text() == "old a"
    assert (tmp_path / "b").read_text() == "by somebody else"


def test_a_file_that_came_meanwhile_is_not_overwritten(files: LocalFiles, tmp_path: Path) -> None:
    with pytest.raises(ChangesFailed, match="already exists"):
        make_changes(files, [Write(path="new", data=b"x"), Write(path="a", data=b"y")])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
    assert (tmp_path / "a").read_text() == "old a"


def test_a_removal_is_the_last_to_happen_and_the_first_to_be_undone(files: LocalFiles, tmp_path: Path) -> None:
    a = files.read("a", 100)
    (tmp_path / "b").chmod(0o444)
    with pytest.raises(ChangesFailed, match="write-protected"):
        make_changes(files, [Remove(path="a", over=a), Write(path="b", data=b"x", over=files.read("b", 100))])
    assert (tmp_path / "a").stat().st_mtime_ns == a.stamp[3]


def test_directories_that_were_made_in_vain_are_removed(files: LocalFiles, tmp_path: Path) -> None:
    with pytest.raises(ChangesFailed):
        make_changes(files, [Write(path="d/e/f", data=b"x"), Write(path="a/below", data=b"y")])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
