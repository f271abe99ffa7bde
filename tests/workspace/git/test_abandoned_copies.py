"""What a killed session left is written back by the next one, and only that: planted state is refused and reported."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from robota.config.sealed_state import KEY_NAME, SEAL_BYTES
from robota.workspace.git.abandoned_copies import COPIES, STATE, take_over_abandoned
from robota.workspace.git.git_directories import GitDirectories, find_git_directories
from tests.workspace.sandbox.git_place import Place

KILLED = (
    "import os, sys; from pathlib import Path\n"
    "from robota.workspace.git.data_copy import GitDataCopy\n"
    "from robota.workspace.git.git_directories import find_git_directories\n"
    "copy = GitDataCopy(find_git_directories(Path(sys.argv[1])), Path(sys.argv[2]))\n"
    "(copy.mounts[0].source / 'refs/heads/kept').write_text(sys.argv[3])\n"
    "os.kill(os.getpid(), 9)\n"
)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "ws")


def abandon(place: Place) -> Path:
    """A copy with a new branch, as a session leaves it that is killed after its command."""
    words = [str(place.root), str(place.user), place.git("rev-parse", "HEAD")]
    subprocess.run([sys.executable, "-c", KILLED, *words], check=False)
    return next(iter((place.user / COPIES).iterdir()))


def directories_of(place: Place) -> GitDirectories:
    found = find_git_directories(place.root)
    assert found is not None
    return found


def test_it_is_written_back_once(place: Place) -> None:
    copy = abandon(place)
    assert take_over_abandoned(directories_of(place), place.user) == ()
    assert "kept" in place.git("branch") and not copy.exists()


def edited(copy: Path) -> None:
    state = (copy / STATE).read_bytes()
    (copy / STATE).write_bytes(state[:SEAL_BYTES] + state[SEAL_BYTES:].replace(b'"HEAD"', b'"config"'))


def unsealed(copy: Path) -> None:
    (copy / STATE).write_bytes((copy / STATE).read_bytes()[SEAL_BYTES:])


def of_another_key(copy: Path) -> None:
    (copy.parent.parent / KEY_NAME).write_bytes(os.urandom(32))


def without_a_key(copy: Path) -> None:
    (copy.parent.parent / KEY_NAME).unlink()


def copied(copy: Path) -> None:
    shutil.copytree(copy, copy.parent / "another")
    shutil.rmtree(copy)


def moved(copy: Path) -> None:
    copy.rename(copy.parent / "another")


def replayed(copy: Path) -> None:
    """The name is the same, but the directory is another one."""
    aside = copy.parent.parent / "aside"
    copy.rename(aside)
    shutil.copytree(aside, copy)


@pytest.mark.parametrize("plant", [edited, unsealed, of_another_key, without_a_key, copied, moved, replayed])
def test_state_that_was_not_written_for_this_very_copy_is_refused_and_reported(
    place: Place, plant: Callable[[Path], None]
) -> None:
    plant(abandon(place))
    told = take_over_abandoned(directories_of(place), place.user)
    assert len(told) == 1 and "was refused" in told[0] and "Nothing of it was written" in told[0]
    assert "kept" not in place.git("branch")


def test_a_link_to_a_copy_elsewhere_is_not_followed(place: Place, tmp_path: Path) -> None:
    copy = abandon(place)
    copy.rename(tmp_path / "planted")
    copy.symlink_to(tmp_path / "planted")
    take_over_abandoned(directories_of(place), place.user)
    assert "kept" not in place.git("branch") and (tmp_path / "planted").exists()


def test_the_copy_of_another_repository_waits_for_that_one(place: Place, tmp_path: Path) -> None:
    copy, other = abandon(place), Place(tmp_path / "other")
    assert take_over_abandoned(directories_of(other), place.user) == ()
    assert copy.exists() and "kept" not in other.git("branch") + place.git("branch")
    # Nor is it written into another repository that took the place of its own.
    (place.root / ".git").rename(tmp_path / "aside")
    (other.root / ".git").rename(place.root / ".git")
    told = take_over_abandoned(directories_of(place), place.user)
    assert "replaced" in told[0] and "kept" not in place.git("branch")


def test_what_was_killed_before_its_command_leaves_nothing_behind(place: Place) -> None:
    copy = abandon(place)
    (copy / STATE).unlink()
    assert take_over_abandoned(directories_of(place), place.user) == ()
    assert not list((place.user / COPIES).iterdir()) and "kept" not in place.git("branch")


def test_where_there_is_no_room_for_a_copy_the_repository_is_read_only_and_the_reason_is_said(place: Place) -> None:
    place.user.mkdir()
    (place.user / COPIES).write_text("in the way")
    code, _, left_out = place.inside("git branch two")
    assert code != 0 and "no room for a copy" in left_out[0] and "Nothing in it was changed" in left_out[0]
    assert "two" not in place.git("branch")
