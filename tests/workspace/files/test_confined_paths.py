"""No race leads out of the root: directories are swapped for links while files are read and written."""

import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count, takewhile
from multiprocessing.synchronize import Event
from pathlib import Path
from shutil import rmtree

import pytest

from robota.workspace.files.confined_paths import (
    DirectoryOpener,
    best_opener,
    openat2,
    openat2_or_walk,
    walk_to_directory,
)
from robota.workspace.files.files import LocalFiles
from robota.workspace.problems import FileProblem

OFTEN = 100
OPENERS = pytest.mark.parametrize("opener", [openat2_or_walk, walk_to_directory], ids=["openat2", "walk"])


def swap_until(stop: Event, started: Event, place: Path, outside: Path) -> None:
    """Make `place` by turns what it is and a link that leads out."""
    real = place.with_name("real")
    while not stop.is_set():
        place.rename(real)
        with suppress(FileExistsError):  # the other side made something in the gap
            place.symlink_to(outside)
        started.set()
        while os.path.lexists(real):
            remove(place)
            with suppress(OSError):
                real.rename(place)


def remove(place: Path) -> None:
    """A link, a file, or a directory into which somebody may be writing."""
    while os.path.lexists(place):
        if place.is_symlink() or place.is_file():
            place.unlink()
        else:
            rmtree(place, ignore_errors=True)


@contextmanager
def swapping(place: Path, outside: Path) -> Iterator[None]:
    context = multiprocessing.get_context("spawn")
    stop, started = context.Event(), context.Event()
    attacker = context.Process(target=swap_until, args=(stop, started, place, outside))
    attacker.start()
    try:
        assert started.wait(60)
        yield
    finally:
        stop.set()
        attacker.join()
    assert attacker.exitcode == 0


class Attempts:
    """What came of trying the same thing again and again."""

    def __init__(self) -> None:
        self.done = 0
        self.refused = 0

    @contextmanager
    def one(self) -> Iterator[None]:
        try:
            yield
            self.done += 1
        except FileProblem:
            self.refused += 1


def rounds(*attempts: Attempts) -> Iterator[int]:
    """As many as it takes until all have often succeeded and often been refused, however busy the machine is."""
    return takewhile(lambda _: any(min(each.done, each.refused) < OFTEN for each in attempts), count())


@pytest.mark.slow
@OPENERS
def test_a_swapped_directory_never_leads_a_read_or_a_write_out(tmp_path: Path, opener: DirectoryOpener) -> None:
    root, outside = tmp_path / "ws", tmp_path / "outside"
    (root / "d/deep").mkdir(parents=True)
    (outside / "deep").mkdir(parents=True)
    (root / "d/deep/f").write_bytes(b"inside")
    (outside / "deep/f").write_bytes(b"secret")
    files = LocalFiles(root, opener)
    reads, writes = Attempts(), Attempts()
    with swapping(root / "d", outside):
        for number in rounds(reads, writes):
            with reads.one():
                assert files.read("d/deep/f", 99).data == b"inside"
            with writes.one():
                files.write(f"d/deep/new{number % 7}", b"x")
    assert sorted(place.name for place in (outside / "deep").iterdir()) == ["f"]
    assert (outside / "deep/f").read_bytes() == b"secret"


@OPENERS
def test_a_swapped_file_never_leads_a_read_or_a_write_out(tmp_path: Path, opener: DirectoryOpener) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    (root / "f").write_bytes(b"inside")
    (tmp_path / "secret").write_bytes(b"secret")
    files = LocalFiles(root, opener)
    reads, writes = Attempts(), Attempts()
    with swapping(root / "f", tmp_path / "secret"):
        for _ in rounds(writes):
            with writes.one():
                files.write("f", b"inside")
        for _ in rounds(reads):
            with reads.one():
                assert files.read("f", 99).data == b"inside"
    assert (tmp_path / "secret").read_bytes() == b"secret"


@OPENERS
def test_neither_opener_follows_a_link_or_climbs_out(tmp_path: Path, opener: DirectoryOpener) -> None:
    (tmp_path / "ws/real").mkdir(parents=True)
    (tmp_path / "ws/link").symlink_to("real")
    root = os.open(tmp_path / "ws", os.O_RDONLY)
    try:
        os.close(opener(root, "real"))
        with pytest.raises(OSError):
            opener(root, "link")
    finally:
        os.close(root)


def test_the_kernel_call_refuses_to_climb_out_by_itself(tmp_path: Path) -> None:
    if best_opener() is walk_to_directory:
        pytest.skip("this kernel has no openat2")
    root = os.open(tmp_path, os.O_RDONLY)
    try:
        with pytest.raises(OSError):
            openat2(root, "..")
        with pytest.raises(OSError):
            openat2(root, "/")
        with pytest.raises(FileNotFoundError):
            openat2(root, "nothing")
    finally:
        os.close(root)
