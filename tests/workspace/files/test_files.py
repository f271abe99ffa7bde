"""Files beneath one root, against a real file system."""

import gc
import os
import socket
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from robota.workspace.files.confined_paths import DirectoryOpener, openat2_or_walk, walk_to_directory
from robota.workspace.files.files import LocalFiles
from robota.workspace.problems import (
    FileChanged,
    FileProblem,
    InvalidPath,
    Missing,
    NotADirectory,
    NotARegularFile,
    NotPermitted,
    OutsideWorkspace,
    TooBig,
)

LIMIT = 1_000_000


@pytest.fixture(params=[openat2_or_walk, walk_to_directory], ids=["openat2", "walk"])
def files(tmp_path: Path, request: pytest.FixtureRequest) -> LocalFiles:
    """Both ways of opening directories, whatever this kernel would choose."""
    root = tmp_path / "ws"
    root.mkdir()
    opener: DirectoryOpener = request.param
    return LocalFiles(root, opener)


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "//etc/passwd", "/proc/self/root/etc/passwd"])
def test_paths_that_lead_out_are_refused(files: LocalFiles, path: str) -> None:
    with pytest.raises(OutsideWorkspace):
        files.resolve(path)


def test_a_neighbour_with_the_same_beginning_is_outside(files: LocalFiles) -> None:
    evil = files.root.with_name("ws-evil")
    evil.mkdir()
    with pytest.raises(OutsideWorkspace):
        files.resolve(str(evil / "f"))


@pytest.mark.parametrize("path", ["", " ", "a\0b", "x" * 5000, "n" * 300, "~/x", "file:///etc/passwd", "\ud800"])
def test_unusable_paths_are_refused(files: LocalFiles, path: str) -> None:
    with pytest.raises(InvalidPath):
        files.resolve(path)


def test_a_variable_in_a_path_is_taken_literally(files: LocalFiles) -> None:
    assert files.write("$HOME/x", b"1").path == files.root / "$HOME/x"


def test_a_directory_that_cannot_be_looked_into_is_a_refusal(files: LocalFiles) -> None:
    """A path through a file, a loop or a name that is too long is refused, never used as written."""
    (files.root / "loop").symlink_to("loop")
    for path in ("loop/x", "d/" + "n" * 256 + "/x"):
        with pytest.raises(InvalidPath):
            files.write(path, b"")
    assert [place.name for place in files.root.iterdir()] == ["loop"]


def test_absolute_paths_inside_and_paths_not_there_yet_resolve(files: LocalFiles) -> None:
    assert files.resolve(str(files.root / "a/b")) == files.root / "a/b"
    assert files.resolve("a/./c/../b") == files.root / "a/b"
    assert files.resolve(".") == files.root


def test_a_link_that_leads_out_is_refused_for_reading_and_writing(files: LocalFiles, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s")
    (files.root / "file").symlink_to(secret)
    (files.root / "dir").symlink_to(tmp_path)
    (files.root / "dangling").symlink_to(tmp_path / "not-there")
    for path in ("file", "dir/secret", "dir/new", "dangling"):
        with pytest.raises(OutsideWorkspace):
            files.read(path, LIMIT)
        with pytest.raises(OutsideWorkspace):
            files.write(path, b"changed")
    assert secret.read_text() == "s"
    assert sorted(tmp_path.iterdir()) == [secret, files.root]


def test_a_loop_of_links_is_refused(files: LocalFiles) -> None:
    (files.root / "a").symlink_to("b")
    (files.root / "b").symlink_to("a")
    with pytest.raises(InvalidPath, match="loop"):
        files.resolve("a")


def test_special_files_are_refused_at_once(files: LocalFiles) -> None:
    os.mkfifo(files.root / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(files.root / "sock"))
        for path, word in (("pipe", "named pipe"), ("sock", "socket"), (".", "directory")):
            with pytest.raises(NotARegularFile, match=word):
                files.read(path, LIMIT)
            with pytest.raises(NotARegularFile, match=word):
                files.write(path, b"")


def test_an_endless_device_is_refused() -> None:
    with pytest.raises(NotARegularFile, match="character device"):
        LocalFiles(Path("/dev")).read("zero", LIMIT)


def test_a_file_without_a_size_is_read_to_its_end() -> None:
    assert LocalFiles(Path("/proc/self")).read("status", LIMIT).data.startswith(b"Name:")


def test_reading_is_limited(files: LocalFiles) -> None:
    (files.root / "f").write_bytes(b"12345")
    assert files.read("f", 5).data == b"12345"
    with pytest.raises(TooBig, match="5 bytes"):
        files.read("f", 4)


def test_missing_files_and_files_used_as_directories(files: LocalFiles) -> None:
    (files.root / "f").write_bytes(b"")
    with pytest.raises(Missing):
        files.read("nothing", LIMIT)
    for operation in (lambda: files.read("f/x", LIMIT), lambda: files.write("f/x", b"")):
        with pytest.raises(NotADirectory):
            operation()


def test_writing_makes_directories_and_says_whether_the_file_is_new(files: LocalFiles) -> None:
    assert files.write("a/b/c.txt", b"1").created
    assert not files.write("a/b/c.txt", b"2").created
    assert (files.root / "a/b/c.txt").read_bytes() == b"2"
    assert [place.name for place in (files.root / "a/b").iterdir()] == ["c.txt"]


def test_a_new_file_gets_the_mode_the_umask_allows(files: LocalFiles) -> None:
    before = os.umask(0o027)
    try:
        files.write("f", b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE((files.root / "f").stat().st_mode) == 0o640


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o4755])
def test_mode_bits_survive_a_write(files: LocalFiles, mode: int) -> None:
    script = files.root / "run.sh"
    script.write_bytes(b"old")
    script.chmod(mode)
    files.write("run.sh", b"new")
    assert stat.S_IMODE(script.stat().st_mode) == mode


def test_a_write_protected_file_is_left_alone(files: LocalFiles) -> None:
    (files.root / "f").write_bytes(b"old")
    (files.root / "f").chmod(0o444)
    with pytest.raises(NotPermitted, match="write-protected"):
        files.write("f", b"new")
    assert (files.root / "f").read_bytes() == b"old"
    assert list(files.root.iterdir()) == [files.root / "f"]


def test_a_linked_file_is_written_through_to_its_target(files: LocalFiles) -> None:
    (files.root / "target").write_bytes(b"old")
    (files.root / "link").symlink_to("target")
    files.write("link", b"new")
    assert (files.root / "link").is_symlink()
    assert (files.root / "target").read_bytes() == b"new"


def test_other_hard_links_keep_the_old_content_and_are_reported(files: LocalFiles, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"old")
    os.link(other, files.root / "f")
    assert files.write("f", b"new").separated_links == 1
    assert other.read_bytes() == b"old"


@pytest.mark.parametrize("path", ["f", "pipe", "nothing", "a/b", ".", "f/x"])
def test_no_descriptor_is_left_open(files: LocalFiles, path: str) -> None:
    (files.root / "f").write_bytes(b"x")
    os.mkfifo(files.root / "pipe")
    gc.collect()  # closes what earlier tests left to the collector
    before = list(Path("/proc/self/fd").iterdir())
    with suppress(FileProblem):
        files.read(path, 10)
    with suppress(FileProblem):
        files.write(path, b"y")
    with suppress(FileProblem):
        files.list(path, True, 10)
    assert list(Path("/proc/self/fd").iterdir()) == before


def test_extended_attributes_survive_a_write(files: LocalFiles) -> None:
    place = files.root / "f"
    place.write_bytes(b"old")
    try:
        os.setxattr(place, "user.note", b"mine")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    files.write("f", b"new")
    assert os.getxattr(place, "user.note") == b"mine"


@pytest.mark.parametrize("touch", ["content", "gone", "link"])
def test_a_file_that_changed_after_an_edit_was_worked_out_is_left_alone(files: LocalFiles, touch: str) -> None:
    """Also if a link replaced it."""
    place = files.root / "f"
    place.write_bytes(b"old")
    read = files.read("f", LIMIT)
    place.unlink()
    if touch == "content":
        place.write_bytes(b"theirs")
    if touch == "link":
        (files.root / "other").write_bytes(b"other")
        place.symlink_to("other")
    with pytest.raises(FileChanged, match="changed by another program"):
        files.write("f", b"ours", over=read)
    with pytest.raises(FileChanged):
        files.remove("f", over=read)
    assert touch == "gone" or place.read_bytes() in {b"theirs", b"other"}
    assert not list(files.root.glob(".robota-*"))


def test_removing_deletes_the_file_that_was_read(files: LocalFiles) -> None:
    (files.root / "f").write_bytes(b"old")
    files.remove("f", over=files.read("f", LIMIT))
    assert list(files.root.iterdir()) == []


def test_what_a_killed_session_left_is_removed_by_a_later_one(tmp_path: Path) -> None:
    """Only drafts, and only old ones, because another session may be writing."""
    old, young, other = (
        tmp_path / f".robota-{digit * 16}.{end}" for digit, end in (("a", "tmp"), ("b", "tmp"), ("c", "x"))
    )
    for path in (old, young, other):
        path.write_text("draft")
    for path in (old, other):
        os.utime(path, (0, 0))
    LocalFiles(tmp_path).write("f", b"new")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([young.name, other.name, "f"])


KILLED = """
import os, sys
from robota.workspace.files import atomic_write
from robota.workspace.files.files import LocalFiles
from pathlib import Path
atomic_write._write_all = lambda descriptor, data: os.kill(os.getpid(), 9)
LocalFiles(Path(sys.argv[1])).write("f", b"new")
"""


def test_a_session_killed_while_it_writes_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"old")
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert killed.returncode == -9
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("f", b"old")]
