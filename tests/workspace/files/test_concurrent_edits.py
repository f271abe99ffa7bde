"""Several sessions and an editor that does not lock, all on one file: nothing that was reported as done is lost."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from robota.workspace.files import atomic_write, directory_lock
from robota.workspace.files.files import LocalFiles
from robota.workspace.problems import FileChanged, NotPermitted

LIMIT = 1_000_000

# A session adds a line to what it has read; what is refused is tried again, as a model would.
SESSIONS = """
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
        (root / "mine").write_bytes(text + f"editor/{edit}\\n".encode())
        assert exchange_names(directory, "mine", "f")
        if (root / "mine").read_bytes() == text:
            break
        exchange_names(directory, "mine", "f")
"""


def test_no_edit_that_was_reported_as_done_is_lost(tmp_path: Path) -> None:
    """R1: 20 sessions in 4 processes."""
    (tmp_path / "f").write_bytes(b"")
    running = [
        subprocess.Popen([sys.executable, "-c", SESSIONS, str(tmp_path), str(process), "5", "4"])
        for process in range(4)
    ]
    assert [process.wait() for process in running] == [0] * 4
    expected = {f"{process}/{number}/{edit}" for process in range(4) for number in range(5) for edit in range(4)}
    lines = (tmp_path / "f").read_text().splitlines()
    assert sorted(lines) == sorted(expected)
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_an_editor_that_does_not_lock_loses_nothing_either(tmp_path: Path) -> None:
    """R1: what the editor wrote is still there, whatever the sessions did at the same time."""
    (tmp_path / "f").write_bytes(b"")
    sessions = [subprocess.Popen([sys.executable, "-c", SESSIONS, str(tmp_path), "0", "3", "15"])]
    editor = subprocess.Popen([sys.executable, "-c", EDITOR, str(tmp_path), "100"])
    assert [process.wait() for process in (*sessions, editor)] == [0, 0]
    lines = (tmp_path / "f").read_text().splitlines()
    assert [line for line in lines if line.startswith("editor/")] == [f"editor/{edit}" for edit in range(100)]


def test_a_file_replaced_at_the_last_moment_is_put_back(tmp_path: Path) -> None:
    """R1: the second look, after the file was taken out of its place."""
    (tmp_path / "f").write_bytes(b"old")
    directory = os.open(tmp_path, os.O_RDONLY)

    def look() -> os.stat_result:
        status = (tmp_path / "f").stat()
        (tmp_path / "theirs").write_bytes(b"theirs")
        (tmp_path / "theirs").rename(tmp_path / "f")
        return status

    with pytest.raises(atomic_write.Overtaken):
        atomic_write.replace_file(directory, "f", b"ours", look)
    with pytest.raises(atomic_write.Overtaken):
        atomic_write.remove_file(directory, "f", look)
    os.close(directory)
    assert (tmp_path / "f").read_bytes() == b"theirs"
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_a_file_changed_since_it_was_read_is_not_removed(tmp_path: Path) -> None:
    """R1"""
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
    """R1"""
    monkeypatch.setattr(directory_lock, "MAX_WAIT_S", 0.01)
    (tmp_path / "f").write_bytes(b"old")
    holder = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    with pytest.raises(NotPermitted, match="locked"):
        LocalFiles(tmp_path).write("f", b"new")
    os.close(holder)
    assert (tmp_path / "f").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
