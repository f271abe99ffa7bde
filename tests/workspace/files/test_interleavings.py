"""Others who write at any moment of a change of ours: every order of the steps is tried, and nothing of theirs is lost.

A profiler sees every step of the change. Before one of them, or before two, somebody who knows of no lock acts on the
same file. The steps of a replacement are these:

    look at the file; put draft and file in each other's place; look at what was taken out; throw it away.

Where it is not what was expected: put it back; look at what was taken out now (ours, or a version that somebody has put
over ours); if it is theirs, put it there again and keep what was taken out for it.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import combinations, product
from pathlib import Path
from typing import Final

import msgspec
import pytest

from robota.workspace.files import open_for_writing
from robota.workspace.files.atomic_write import remove_file, replace_file
from robota.workspace.files.drafts import DRAFTS
from robota.workspace.problems import NotPermitted, Overtaken
from tests.workspace.interleaving import acting

OLD: Final = b"old"
OURS: Final = b"ours, longer"
LIMIT: Final = 1000
# What a change does to names and files. Others may act before each of these.
STEPS: Final = frozenset({"fcntl", "lstat", "link", "rename", "unlink"})
# A change that is disturbed takes more steps.
MORE_STEPS: Final = 8


class Others:
    """Everybody else. What they wrote must be somewhere afterwards, unless they themselves have replaced it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.file = root / "f"
        self.written: list[bytes] = []
        self.newest: bytes | None = None
        self._replaced: set[bytes] = set()
        self._open: list[int] = []

    def rename(self) -> None:
        """An editor that writes a new file and renames it over the old one."""
        self._they_replace()
        self.newest = self._new()
        (self.root / "new").write_bytes(self.newest)
        (self.root / "new").rename(self.file)

    def write_in_place(self) -> None:
        """An editor that empties the file and writes into it."""
        self._they_replace()
        self.newest = self._new()
        self.file.write_bytes(self.newest)

    def remove(self) -> None:
        """They delete the file."""
        self._they_replace()
        self.newest = None
        self.file.unlink(missing_ok=True)

    def open(self) -> None:
        """A program that appends to the file when it pleases."""
        with suppress(FileNotFoundError):
            self._open.append(os.open(self.file, os.O_WRONLY | os.O_APPEND))

    def append(self) -> None:
        """It writes now to what it has opened, wherever that is, and closes it."""
        while self._open:
            descriptor = self._open.pop()
            os.write(descriptor, self._new())
            os.close(descriptor)

    def lost(self) -> list[bytes]:
        """What they wrote and is nowhere."""
        everything = b"".join(path.read_bytes() for path in files_in(self.root))
        return [text for text in self.written if text not in everything and text not in self._replaced]

    def _new(self) -> bytes:
        self.written.append(f"<theirs {len(self.written)}{'!' * len(self.written)}>".encode())
        return self.written[-1]

    def _they_replace(self) -> None:
        now = self.file.read_bytes() if self.file.exists() else b""
        self._replaced.update(text for text in self.written if text in now)


Act = Callable[[Others], None]
ACTS: Final[tuple[Act, ...]] = (Others.rename, Others.write_in_place, Others.remove)
PAIRS: Final[tuple[tuple[Act, Act], ...]] = (*product(ACTS, ACTS), (Others.open, Others.append))


class Place(msgspec.Struct, frozen=True):
    """A directory with the file, and one for drafts, both open."""

    root: Path
    directory: int
    drafts: int

    def refill(self) -> None:
        """Nothing but the file, as it was."""
        for path in files_in(self.root):
            path.unlink()
        (self.root / "f").write_bytes(OLD)


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """In memory, where there is such a place: every change is synced, and thousands are made."""
    monkeypatch.setattr(open_for_writing, "MAX_WAIT_S", 0.0)
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as name:
        root = Path(name)
        (root / DRAFTS).mkdir()
        directory, drafts = (os.open(path, os.O_RDONLY) for path in (root, root / DRAFTS))
        yield Place(root, directory, drafts)
        os.close(directory)
        os.close(drafts)


def files_in(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file()]


Change = Callable[[Place], None]


def look(place: Place) -> os.stat_result:
    """What is there must be what the change was worked out from."""
    status = os.lstat("f", dir_fd=place.directory)
    if (place.root / "f").read_bytes() != OLD:
        raise Overtaken
    return status


def replace(place: Place) -> None:
    replace_file(place.directory, "f", OURS, partial(look, place), place.drafts)


def remove(place: Place) -> None:
    remove_file(place.directory, "f", partial(look, place), place.drafts)


CHANGES: Final[dict[str, Change]] = {"replace": replace, "remove": remove}


def run(place: Place, change: Change, acts: dict[int, Act]) -> None:
    """Make a change while others act at these moments: what they wrote last stands there, and nothing is lost."""
    place.refill()
    others = Others(place.root)
    told = ""
    with acting({moment: partial(act, others) for moment, act in acts.items()}, STEPS):
        try:
            change(place)
        except Overtaken as error:
            told = error.kept or ""
        except NotPermitted:
            assert Others.open in acts.values()
        except FileNotFoundError:
            assert Others.remove in acts.values()
    others.append()
    situation = {moment: act.__name__ for moment, act in acts.items()}
    assert others.lost() == [], situation
    kept = [path.name for path in files_in(place.root) if path != others.file]
    assert kept == [told] * bool(told), situation
    assert others.newest in (None, others.file.exists() and others.file.read_bytes()), situation


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_nothing_of_others_is_lost_whenever_they_act(change: Change, place: Place) -> None:
    """One action at any moment, and two at any two moments."""
    place.refill()
    with acting({}, STEPS) as steps:
        change(place)
    moments = range(len(steps) + MORE_STEPS)
    for act, moment in product(ACTS, moments):
        run(place, change, {moment: act})
    for pair, when in product(PAIRS, combinations(moments, 2)):
        run(place, change, dict(zip(when, pair, strict=True)))
