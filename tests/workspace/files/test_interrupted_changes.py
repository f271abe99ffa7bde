"""A session that is killed in the middle of a patch: the next one finds all of it done, or undoes what was."""

import os
import shutil
import signal
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec
import pytest

from robota.workspace.files.change_journal import ChangeJournal
from robota.workspace.files.change_set import Change, Link, Remove, Write, make_changes
from robota.workspace.files.drafts import journal_directory, remove_abandoned_drafts
from robota.workspace.files.files import LocalFiles
from robota.workspace.files.interrupted_changes import undo_interrupted_changes
from tests.cli.scripts import script
from tests.harness.cli import Robota

ODD = os.fsdecode(b"\xff\xe6\xbc\xa2")
KILLED_IN = ("change_set.py", "change_journal.py", "atomic_write.py", "drafts.py", "exchange_names.py")
LIMIT = 1_000_000


@pytest.fixture
def in_memory(tmp_path: Path) -> Iterator[Path]:
    """A place where syncing hundreds of times takes no time, where there is one."""
    if not Path("/dev/shm").is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        yield Path(directory)


def workspace_before(root: Path) -> None:
    (root / ".robota" / "sessions").mkdir(parents=True)
    (root / "sub").mkdir()
    (root / "a").write_bytes(b"old a")
    (root / "sub" / ODD).write_bytes(b"old b")
    (root / "gone").write_bytes(b"old gone")
    (root / "gone").chmod(0o750)
    (root / "link").symlink_to("a")


def patch(files: LocalFiles) -> list[Change]:
    a, b, gone, link = files.read("a", LIMIT), files.read(f"sub/{ODD}", LIMIT), files.read("gone", LIMIT), "link"
    target = files.read_link(link)
    assert target is not None
    return [
        Write(path="a", data=b"new a", over=a),
        Remove(path="gone", over=gone),
        Write(path=f"sub/{ODD}", data=b"new b", over=b),
        Write(path="made/deep/moved", data=gone.data, mode_of="gone"),
        Remove(path=link, over=target),
        Link(path="made/link", target="../a"),
    ]


def tree(root: Path) -> dict[str, object]:
    """Every file with its content and mode, every link with its target; what is Robota's own by its name."""
    found: dict[str, object] = {}
    for place in sorted(root.rglob("*")):
        name = str(place.relative_to(root))
        if place.is_symlink():
            found[name] = str(place.readlink())
        elif place.is_file():
            found[name] = place.read_bytes(), stat.S_IMODE(place.stat().st_mode)
        elif not name.startswith(".robota"):
            found[name] = "directory"
    return found


def traced(run: Callable[[], None], at_line: Callable[[], None]) -> None:
    """Run it, and call `at_line` before every line of our code."""

    def look(frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.endswith(KILLED_IN):
            return None
        if event == "line":
            at_line()
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        run()
    finally:
        sys.settrace(before)


def killed_when(is_time: Callable[[], bool], run: Callable[[], None]) -> bool:
    """Run it in a process that gets a kill -9 before the line of our code at which it is time; whether it did."""
    child = os.fork()
    if child:
        return os.WIFSIGNALED(os.waitpid(child, 0)[1])

    def kill_in_time() -> None:
        if is_time():
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        traced(run, kill_in_time)
    finally:
        os._exit(0)


def steps_that_change(place: Path, run: Callable[[], None]) -> list[int]:
    """Run it to the end; the numbers of the lines before which something in `place` is other than it was."""
    seen: list[list[str]] = []

    def look() -> None:
        # With the inode: drafts have random names, and exchanging two files changes no names.
        seen.append([f"{each.parent}/{each.lstat().st_ino}" for each in sorted(place.rglob("*"))])

    traced(run, look)
    return [number for number in range(1, len(seen)) if seen[number] != seen[number - 1]]


def at_step(step: int) -> Callable[[], bool]:
    lines = count(1)
    return lambda: next(lines) == step


def content_is(place: Path, data: bytes) -> Callable[[], bool]:
    return lambda: place.exists() and place.read_bytes() == data


def test_a_patch_killed_at_any_step_is_done_or_undone(in_memory: Path) -> None:
    """Killed after any single change to the disk, it is completed or undone at the next start without remains."""
    root, outcomes = in_memory / "ws", list[str]()
    home = in_memory / "home"
    journal = journal_directory(home, root)
    workspace_before(root)
    files = LocalFiles(root, journals_in=home)
    make_changes(files, patch(files))  # what is worked out only once is worked out
    shutil.rmtree(root)
    workspace_before(root)
    before, files = tree(root), LocalFiles(root, journals_in=home)
    steps = steps_that_change(in_memory, partial(make_changes, files, patch(files)))
    finished = tree(root)
    assert finished["made/deep/moved"] == (b"old gone", 0o750) and "link" not in finished
    for step in steps:
        shutil.rmtree(root)
        workspace_before(root)
        files = LocalFiles(root, journals_in=home)
        assert killed_when(at_step(step + 1), partial(make_changes, files, patch(files)))
        remove_abandoned_drafts(root)
        notices = undo_interrupted_changes(root, journal)
        assert tree(root) in (before, finished), step
        assert not notices or tree(root) == before
        outcomes.append("done" if tree(root) == finished else "undone" if notices else "nothing done")
        assert not journal.exists(), step
    assert outcomes == sorted(outcomes, key=["nothing done", "undone", "done"].index)
    assert outcomes.count("undone") >= 8 and outcomes[-1] == "done"


def test_what_somebody_changed_since_is_left(tmp_path: Path) -> None:
    """The user is told about it."""
    workspace_before(tmp_path)
    journal = journal_directory(tmp_path / "home", tmp_path)
    files = LocalFiles(tmp_path, journals_in=tmp_path / "home")
    assert killed_when(content_is(tmp_path / "sub" / ODD, b"new b"), partial(make_changes, files, patch(files)))
    (tmp_path / "a").write_bytes(b"of a user")
    [notice] = undo_interrupted_changes(tmp_path, journal)
    assert "killed in the middle of a patch" in notice and "Not restored" in notice
    assert (tmp_path / "a").read_bytes() == b"of a user"
    assert (tmp_path / f"sub/{ODD}").read_bytes() == b"old b"


def test_a_journal_of_a_living_session_is_not_touched(tmp_path: Path) -> None:
    """Two sessions work in one workspace."""
    workspace_before(tmp_path)
    journal = journal_directory(tmp_path / "home", tmp_path)
    files = LocalFiles(tmp_path, journals_in=tmp_path / "home")
    looked: list[str] = []

    class Watching(LocalFiles):
        def remove(self, path: str, **options: Any) -> None:
            looked.extend(undo_interrupted_changes(tmp_path, journal))
            looked.append("looked")
            super().remove(path, **options)

    watching = Watching(tmp_path, journals_in=tmp_path / "home")
    make_changes(watching, patch(files))
    assert looked == ["looked", "looked"]
    assert (tmp_path / "a").read_bytes() == b"new a" and not (tmp_path / "gone").exists()


def planted_by_hand(journal: Path) -> None:
    journal.write_bytes(msgspec.msgpack.encode(ChangeJournal(root=b"/", changes=())))


def edited(journal: Path) -> None:
    journal.write_bytes(journal.read_bytes().replace(b"old a", b"evil!"))


def under_another_name(journal: Path) -> None:
    journal.rename(journal.with_name(f"another{journal.suffix}"))


@pytest.mark.parametrize("plant", [planted_by_hand, edited, under_another_name])
def test_a_journal_that_robota_did_not_write_there_is_refused_and_reported(
    tmp_path: Path, plant: Callable[[Path], None]
) -> None:
    root, home = tmp_path / "ws", tmp_path / "home"
    workspace_before(root)
    files, journals = LocalFiles(root, journals_in=home), journal_directory(home, root)
    assert killed_when(content_is(root / "sub" / ODD, b"new b"), partial(make_changes, files, patch(files)))
    plant(next(journals.iterdir()))
    after = tree(root)
    [notice] = undo_interrupted_changes(root, journals)
    assert "was refused" in notice and "No file was changed" in notice
    assert tree(root) == after


def test_a_journal_of_another_workspace_is_refused(tmp_path: Path) -> None:
    root, other, home = tmp_path / "ws", tmp_path / "other", tmp_path / "home"
    workspace_before(root)
    workspace_before(other)
    files = LocalFiles(root, journals_in=home)
    assert killed_when(content_is(root / "sub" / ODD, b"new b"), partial(make_changes, files, patch(files)))
    before = tree(other)
    journal_directory(home, root).rename(journal_directory(home, other))
    [notice] = undo_interrupted_changes(other, journal_directory(home, other))
    assert "was refused" in notice and tree(other) == before


@pytest.mark.parametrize("kind", ["file", "link"])
def test_drafts_go_at_the_next_start(robota: Robota, kind: str) -> None:
    """Even if that session writes nothing; only our drafts, and no link is followed."""
    drafts = robota.workspace / ".robota" / "drafts"
    drafts.mkdir(parents=True)
    (robota.workspace / ".robota" / "sessions").mkdir()
    kept = robota.workspace / "kept"
    kept.write_text("kept")
    left = drafts / ".robota-0123456789abcdef.tmp"
    left.symlink_to(kept) if kind == "link" else left.write_text("half")
    (drafts / "of somebody else").write_text("theirs")
    script(robota, {"text": "ok"})
    assert robota("-p", "go").code == 0
    assert [place.name for place in drafts.iterdir()] == ["of somebody else"]
    assert kept.read_text() == "kept"


def test_the_next_session_undoes_half_a_patch_and_says_so(robota: Robota) -> None:
    root = robota.workspace
    (root / "a").write_bytes(b"old a")
    (root / "b").write_bytes(b"old b")
    files = LocalFiles(root, journals_in=robota.home / ".robota")
    a, b = files.read("a", LIMIT), files.read("b", LIMIT)
    changes = [Write(path="a", data=b"new a", over=a), Write(path="b", data=b"new b", over=b)]
    assert killed_when(content_is(root / "a", b"new a"), partial(make_changes, files, changes))
    assert (root / "b").read_bytes() == b"old b"
    script(robota, {"text": "ok"})
    done = robota("-p", "go")
    assert done.code == 0
    assert "killed in the middle of a patch" in done.stderr and "'a'" in done.stderr
    assert (root / "a").read_bytes() == b"old a"


def test_a_repository_cannot_bring_a_journal(robota: Robota) -> None:
    """What lies in the workspace is never taken for one of ours."""
    files = LocalFiles(robota.workspace, journals_in=robota.workspace / ".robota")
    changes: list[Change] = [Write(path="x", data=b"evil"), Write(path="y", data=b"evil")]
    assert killed_when(content_is(robota.workspace / "x", b"evil"), partial(make_changes, files, changes))
    script(robota, {"text": "ok"})
    assert "patch" not in robota("-p", "go").stderr
    assert (robota.workspace / "x").read_bytes() == b"evil"
