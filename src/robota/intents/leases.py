"""Leases on files: every session that has selected an intent holds one on the files of that intent.

A lease is a small file that its session keeps locked, beside those of the other sessions of the same repository. The
lock ends with the process, however that ends, so a lease whose lock can be taken is that of a dead one.
"""

import fcntl
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from io import FileIO
from pathlib import Path
from typing import Final

import msgspec

from robota.config.durable_file import only_writer
from robota.intents.intent import Intent
from robota.intents.scope import Scope, ScopeProblem
from robota.intents.trace_record import timestamp
from robota.workspace.git.git_directories import find_git_directories

SUFFIX: Final = ".lease"
DRAFT_SUFFIX: Final = ".new"
MAX_LEASE_BYTES: Final = 1_000_000
MAX_FILES: Final = 5_000
WILD: Final = frozenset("*?[")
PROBE: Final = "robota-probe"


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """The lease of a session. The one with the lower number is older."""

    number: int
    session_id: str
    intent_id: str
    owned_scope: tuple[str, ...]
    root: str
    pid: int
    since: str

    @property
    def scope(self) -> Scope:
        """The files of the lease. Raises `ScopeProblem` if its file was tampered with."""
        return Scope(self.owned_scope)

    @property
    def holder(self) -> str:
        """The name of the session that holds the lease, for messages."""
        return (
            f"session {self.session_id} (process {self.pid}, in {self.root}, since {self.since}) for {self.intent_id}"
        )


def repository_leases(root: Path, session_id: str, user_directory: Path) -> "LeaseBook":
    """The leases of a session. All worktrees of a repository share one directory."""
    real = Path(os.path.realpath(root))
    git = find_git_directories(real)
    key = sha256(os.fsencode(real if git is None else git.common)).hexdigest()[:32]
    return LeaseBook(user_directory / "leases" / key, session_id, real, timestamp)


class LeaseBook:
    """The leases of a repository, from the view of one session. `directory` is outside all workspaces."""

    def __init__(self, directory: Path, session_id: str, root: Path, timestamp: Callable[[], str]) -> None:
        self._directory = directory
        self._session_id = session_id
        self._root = str(root)
        self._timestamp = timestamp
        self._held: FileIO | None = None
        self._mine: Lease | None = None

    def take(self, intent: Intent) -> Lease:
        """Take a lease on the files of the intent, and release the lease on another one."""
        if (
            self._mine is not None
            and self._mine.intent_id == intent.id
            and self._mine.owned_scope == intent.owned_scope
        ):
            return self._mine
        with only_writer(self._directory):
            self._remove_dead()
            mine = Lease(
                number=max((lease.number for lease in self.others()), default=0) + 1,
                session_id=self._session_id,
                intent_id=intent.id,
                owned_scope=intent.owned_scope,
                root=self._root,
                pid=os.getpid(),
                since=self._timestamp(),
            )
            self.release()
            # It is renamed into place once locked, so that no session takes it for the lease of a dead one.
            draft = self._directory / f"{self._session_id}{DRAFT_SUFFIX}"
            held = draft.open("wb", buffering=0)
            fcntl.flock(held, fcntl.LOCK_EX)
            held.write(msgspec.json.encode(mine))
            draft.replace(self._path)
            self._held, self._mine = held, mine
        return mine

    def release(self) -> None:
        """Release the lease."""
        if self._held is not None:
            with suppress(OSError):
                self._path.unlink()
            self._held.close()
        self._held = self._mine = None

    def others(self) -> tuple[Lease, ...]:
        """The leases of other live sessions, oldest first."""
        leases = (lease for path in self._files() if (lease := _living(path)) is not None)
        return tuple(sorted(leases, key=lambda lease: lease.number))

    def holder(self, path: str) -> Lease | None:
        """The older session in the same checkout that holds the file."""
        return holder_among(self.older(), path)

    def older(self) -> tuple[Lease, ...]:
        """The leases of older sessions in the same checkout, whose files this session keeps off."""
        mine = self._mine
        return tuple(
            lease
            for lease in self.others()
            if self.is_in_the_way(lease) and (mine is None or lease.number < mine.number)
        )

    def overlapping(self, intent: Intent) -> tuple[Lease, ...]:
        """Leases of other sessions that share files with the intent, including those in other worktrees."""
        return tuple(lease for lease in self.others() if self._overlaps(intent, lease))

    def is_in_the_way(self, lease: Lease) -> bool:
        """Whether both are in the same checkout and share files."""
        return lease.root == self._root

    def _remove_dead(self) -> None:
        """Remove the leases of dead sessions. Only one writer at a time, so no session takes that name meanwhile."""
        drafts = [path for path in self._directory.iterdir() if path.suffix == DRAFT_SUFFIX]
        for path in (*self._files(), *drafts):
            with suppress(OSError), path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                path.unlink()

    @property
    def _path(self) -> Path:
        return self._directory / f"{self._session_id}{SUFFIX}"

    def _files(self) -> Sequence[Path]:
        try:
            return sorted(path for path in self._directory.iterdir() if path.suffix == SUFFIX and path != self._path)
        except OSError:
            return ()

    def _overlaps(self, intent: Intent, lease: Lease) -> bool:
        try:
            other = lease.scope
        except ScopeProblem:
            return True
        return (
            any(other.covers(_example(pattern)) for pattern in intent.owned_scope)
            or any(intent.scope.covers(_example(pattern)) for pattern in lease.owned_scope)
            or any(intent.scope.covers(path) and other.covers(path) for path in self._places(intent))
        )

    def _places(self, intent: Intent) -> Iterator[str]:
        """Existing files below the intent's patterns, to find overlaps that comparing patterns does not show."""
        count = 0
        for start in {_fixed_part(pattern) for pattern in intent.owned_scope}:
            for directory, _, names in os.walk(Path(self._root, start)):
                for name in names:
                    yield os.path.relpath(Path(directory, name), self._root)
                    count += 1
                if count > MAX_FILES:
                    return


def holder_among(leases: Iterable[Lease], path: str) -> Lease | None:
    """The first lease that holds the file."""
    return next((lease for lease in leases if _covers(lease, path)), None)


def _covers(lease: Lease, path: str) -> bool:
    try:
        return lease.scope.covers(path)
    except ScopeProblem:
        return True


def _living(path: Path) -> Lease | None:
    """The lease in a file, if a live session holds it."""
    try:
        with path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return _decoded_lease(file.read(MAX_LEASE_BYTES))
    except OSError:
        pass
    return None


def _decoded_lease(data: bytes) -> Lease | None:
    """The lease in a file; None while it is being written."""
    try:
        return msgspec.json.decode(data, type=Lease)
    except (msgspec.DecodeError, RecursionError):
        return None


def _fixed_part(pattern: str) -> str:
    """The directories of a pattern before its first wildcard."""
    fixed: list[str] = []
    for name in pattern.split("/"):
        if WILD & set(name):
            break
        fixed.append(name)
    return "/".join(fixed)


def _example(pattern: str) -> str:
    """A path that (nearly) matches the pattern."""
    names = (PROBE if "[" in name else name.replace("*", PROBE).replace("?", "x") for name in pattern.split("/"))
    return "/".join(name for name in names if name)
