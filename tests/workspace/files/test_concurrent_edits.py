"""Several sessions and an editor that does not lock, all on one file: nothing that was reported as done is lost."""

import fcntl
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from robota.config import durable_file
from robota.workspace.files import atomic_write, open_for_writing
from robota.workspace.files.drafts import DRAFTS, OWN_DIRECTORY, SESSIONS, draft_name, remove_abandoned_drafts
from robota.workspace.files.files import LocalFiles
from robota.workspace.problems import FileChanged, NotPermitted, Overtaken
from tests.workspace.interleaving import acting

LIMIT = 1_000_000

# A session adds a line to what it has read; what is refused is tried again, as a model would.
SESSION_PROCESS = """
import sys, threading
from pathlib import Path
from robota.workspace.files.files import LocalFiles
from robota.workspace.problems import FileChanged

root, process, sessions, edits = Path(sys.argv[1]), *map(int, sys.argv[2:])

def session(number):
    files = LocalFiles(root)
    for edit in range(edits):
        while True:
            now = files.read("f", 10_000_000)
            line = f"{process}/{number}/{edit}\\n".encode()
            try:
                files.write("f", now.data + line, over=now)
            except FileChanged:
                continue
            break

threads = [threading.Thread(target=session, args=(number,)) for number in range(sessions)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""

# An editor that knows of no lock, but never throws away what it has not read itself.
EDITOR = """
import os, sys
from pathlib import Path
from robota.workspace.files.exchange_names import exchange_names

root, edits = Path(sys.argv[1]), int(sys.argv[2])
directory = os.open(root, os.O_RDONLY)
for edit in range(edits):
    while True:
        text = (root / "f").read_bytes()
        new = text + f"editor/{edit}\\n".encode()
        (root / "mine").write_bytes(new)
        assert exchange_names(directory, "mine", "f")
        if (root / "mine").read_bytes() == text:
            break
        exchange_names(directory, "mine", "f")
        if (root / "mine").read_bytes() != new:
            (root / "mine").rename(root / f"mine.{os.urandom(4).hex()}")
(root / "mine").unlink()
"""


def test_no_edit_that_was_reported_as_done_is_lost(tmp_path: Path) -> None:
    """With 20 sessions in 4 processes."""
    (tmp_path / "f").write_bytes(b"")
    running = [
        subprocess.Popen([sys.executable, "-c", SESSION_PROCESS, str(tmp_path), str(process), "5", "4"])
        for process in range(4)
    ]
    assert [process.wait() for process in running] == [0] * 4
    expected = {f"{process}/{number}/{edit}" for process in range(4) for number in range(5) for edit in range(4)}
    lines = (tmp_path / "f").read_text().splitlines()
    assert sorted(lines) == sorted(expected)
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_an_editor_that_does_not_lock_loses_nothing_either(tmp_path: Path) -> None:
    """What the editor and the sessions wrote is in the file, or in a copy that one of them kept."""
    (tmp_path / "f").write_bytes(b"")
    sessions = [subprocess.Popen([sys.executable, "-c", SESSION_PROCESS, str(tmp_path), "0", "3", "15"])]
    editor = subprocess.Popen([sys.executable, "-c", EDITOR, str(tmp_path), "100"])
    assert [process.wait() for process in (*sessions, editor)] == [0, 0]
    lines = {line for path in tmp_path.iterdir() for line in path.read_text().splitlines()}
    of_sessions = {f"0/{number}/{edit}" for number in range(3) for edit in range(15)}
    assert lines == {f"editor/{edit}" for edit in range(100)} | of_sessions
    assert {path.name.partition(".")[0] for path in tmp_path.iterdir()} <= {"f", "mine"}


def test_a_file_replaced_at_the_last_moment_is_put_back(tmp_path: Path) -> None:
    """It is compared a second time, after it was moved out of its place."""
    (tmp_path / "f").write_bytes(b"old")
    directory = os.open(tmp_path, os.O_RDONLY)

    def look() -> os.stat_result:
        status = (tmp_path / "f").stat()
        (tmp_path / "theirs").write_bytes(b"theirs")
        (tmp_path / "theirs").rename(tmp_path / "f")
        return status

    with pytest.raises(Overtaken):
        atomic_write.replace_file(directory, "f", b"ours", look)
    with pytest.raises(Overtaken):
        atomic_write.remove_file(directory, "f", look)
    os.close(directory)
    assert (tmp_path / "f").read_bytes() == b"theirs"
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_a_file_changed_since_it_was_read_is_not_removed(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    (tmp_path / "f").write_bytes(b"old")
    read = files.read("f", LIMIT)
    (tmp_path / "f").write_bytes(b"newer")
    with pytest.raises(FileChanged):
        files.remove("f", over=read)
    assert (tmp_path / "f").read_bytes() == b"newer"


def test_a_program_that_never_gives_its_lock_back_stops_nobody_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durable_file, "MAX_LOCK_WAIT_S", 0.01)
    (tmp_path / "f").write_bytes(b"old")
    holder = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    with pytest.raises(NotPermitted, match="locked"):
        LocalFiles(tmp_path).write("f", b"new")
    os.close(holder)
    assert (tmp_path / "f").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_a_file_that_another_program_keeps_open_for_writing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What that program writes next would go to a file without a name."""
    monkeypatch.setattr(open_for_writing, "MAX_WAIT_S", 0.0)
    files = LocalFiles(tmp_path)
    (tmp_path / "f").write_bytes(b"old")
    read = files.read("f", LIMIT)
    with (tmp_path / "f").open("ab") as program:
        with pytest.raises(NotPermitted, match="'f' open for writing"):
            files.write("f", b"new", over=read)
        with pytest.raises(NotPermitted, match="'f' open for writing"):
            files.remove("f", over=read)
        program.write(b" and more")
    assert (tmp_path / "f").read_bytes() == b"old and more"
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


# While we ask whether anybody writes, somebody wants to.
ASKED_MEANWHILE = """
import os, sys
from robota.workspace.files.open_for_writing import is_open_for_writing
from tests.workspace.interleaving import acting

def want_to_write():
    try:
        os.open("f", os.O_WRONLY | os.O_NONBLOCK)
    except BlockingIOError:
        print("has to wait")

open("f", "w").close()
with acting({0: want_to_write}, {"close"}):
    print(is_open_for_writing(os.open(".", os.O_RDONLY), "f"))
"""


@pytest.mark.skipif(not hasattr(fcntl, "F_SETLEASE"), reason="this system has no leases")
def test_who_wants_to_write_while_we_ask_does_not_end_us(tmp_path: Path) -> None:
    """The system sends a signal, which by default ends the process."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    asked = subprocess.run(
        [sys.executable, "-c", ASKED_MEANWHILE], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert (asked.returncode, asked.stdout) == (0, "has to wait\nFalse\n")


def test_a_program_that_reads_the_file_is_no_hindrance(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    (tmp_path / "f").write_bytes(b"old")
    with (tmp_path / "f").open("rb") as program:
        files.write("f", b"new", over=files.read("f", LIMIT))
        assert program.read() == b"old"
    assert (tmp_path / "f").read_bytes() == b"new"


def test_an_older_version_that_has_no_place_any_more_is_named(tmp_path: Path) -> None:
    """We overtake one editor, and another replaces our version before the first one's is back."""
    files = LocalFiles(tmp_path)
    (tmp_path / "d").mkdir()
    file = tmp_path / "d" / "f"
    file.write_bytes(b"old")
    read = files.read("d/f", LIMIT)

    def rename_over(text: bytes) -> None:
        (tmp_path / "theirs").write_bytes(text)
        (tmp_path / "theirs").rename(file)

    exchanges = {0: partial(rename_over, b"first"), 1: partial(rename_over, b"second")}
    with acting(exchanges, ()), pytest.raises(FileChanged) as error:
        files.write("d/f", b"ours", over=read)
    [kept] = [path for path in (tmp_path / "d").iterdir() if path != file]
    assert (file.read_bytes(), kept.read_bytes()) == (b"second", b"first")
    assert f"saved as 'd/{kept.name}'" in str(error.value)


def test_what_a_killed_session_had_taken_out_is_kept_if_it_was_somebody_elses(tmp_path: Path) -> None:
    """The session is killed between the exchange and the second comparison."""
    drafts = tmp_path / OWN_DIRECTORY / DRAFTS
    drafts.mkdir(parents=True)
    (drafts.parent / SESSIONS).mkdir()
    for name in ("ours", "before", "theirs"):
        (drafts / name).write_bytes(name.encode())
    removable = [(drafts / name).stat() for name in ("ours", "before")]
    for name in ("ours", "before", "theirs"):
        (drafts / name).rename(drafts / draft_name(*removable))
    (drafts / draft_name()).write_bytes(b"half")
    [notice] = remove_abandoned_drafts(tmp_path)
    [kept] = drafts.iterdir()
    assert kept.read_bytes() == b"theirs"
    assert notice.endswith(f"kept as .robota/drafts/{kept.name}.")
    assert remove_abandoned_drafts(tmp_path) == []
