"""Deleting a session moves it to a trash next to the sessions; only emptying the trash removes it permanently."""

import fcntl
import os
import re
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from robota.log.catalogue.catalogue import CataloguedSession, glance_at
from robota.log.catalogue.find import find_catalogued
from robota.log.catalogue.places import SessionsPlace
from robota.log.chain.reader import LOG_NAME
from robota.log.errors import LogExists, LogInUse, LogWriteError, SessionNotFound

# Within the sessions directory, so that moving is one rename, and git ignores it, too.
TRASH: Final = ".trash"
# The beginning of the names of drafts in earlier versions.
DRAFT: Final = ".new-"
TRASHED_NAME: Final = re.compile(r"(?P<at>\d{1,15})-(?P<id>[A-Za-z0-9][A-Za-z0-9._-]*)")


class TrashedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session in the trash, and when it was deleted."""

    id: str
    directory: Path
    deleted_ms: int


def delete_session(directory: Path, now_ms: int) -> TrashedSession:
    """Move a session to the trash. A running session is refused."""
    trash = directory.parent / TRASH
    target = trash / f"{now_ms}-{directory.name}"
    lock = _locked(directory)
    try:
        trash.mkdir(mode=0o700, exist_ok=True)
        if trash.is_symlink():
            raise OSError(0, "the trash is a symbolic link, which is not followed")
        directory.rename(target)
    except OSError as error:
        raise LogWriteError(
            f"The session {directory} could not be moved to the trash: {error.strerror}. It was not changed."
        ) from error
    finally:
        if lock is not None:
            os.close(lock)
    return TrashedSession(id=directory.name, directory=target, deleted_ms=now_ms)


def undelete_session(trashed: TrashedSession) -> Path:
    """Restore a session from the trash."""
    target = trashed.directory.parent.parent / trashed.id
    if target.exists():
        raise LogExists(f"A session {trashed.id} exists again. The one in the trash stays there.")
    try:
        trashed.directory.rename(target)
    except OSError as error:
        raise LogWriteError(
            f"{trashed.directory} could not be restored: {error.strerror}. It is still in the trash."
        ) from error
    return target


def trashed_sessions(places: Iterable[SessionsPlace]) -> tuple[TrashedSession, ...]:
    """The sessions in the trash of these places, oldest first."""
    trashed = [each for place in places for each in _trashed_in(place.directory / TRASH)]
    return tuple(sorted(trashed, key=lambda each: (each.deleted_ms, each.id)))


def left_drafts(places: Iterable[SessionsPlace], before_ms: int) -> tuple[TrashedSession, ...]:
    """Drafts that killed forks and imports of earlier versions left behind."""
    drafts = []
    for place in places:
        if place.directory.is_symlink() or not place.directory.is_dir():
            continue
        for path in place.directory.glob(f"{DRAFT}*"):
            status = path.lstat()
            if stat.S_ISDIR(status.st_mode) and status.st_mtime_ns // 1_000_000 < before_ms:
                modified = status.st_mtime_ns // 1_000_000
                drafts.append(TrashedSession(id=path.name, directory=path, deleted_ms=modified))
    return tuple(drafts)


def find_trashed(trashed: Iterable[TrashedSession], wanted: str) -> TrashedSession:
    """Find a session in the trash, by the same rules as other sessions; the newest one of those with the same id."""
    newest = {each.id: each for each in trashed}
    if wanted in newest:
        return newest[wanted]
    sessions = [
        CataloguedSession(
            id=each.id,
            directory=each.directory,
            modified_ms=each.deleted_ms,
            size=0,
            is_own=True,
            is_live=False,
            summary=glance_at(each.directory / LOG_NAME),
        )
        for each in newest.values()
    ]
    try:
        return newest[find_catalogued(sessions, wanted).id]
    except SessionNotFound as error:
        raise SessionNotFound(f"There is no session {wanted!r} in the trash.") from error


def remove_for_good(trashed: TrashedSession) -> None:
    """Remove a session from the trash. If this is interrupted, the rest stays in the trash."""
    try:
        shutil.rmtree(trashed.directory)
    except OSError as error:
        raise LogWriteError(
            f"{trashed.directory} could not be removed completely: {error.strerror}. The rest is still there."
        ) from error


def _trashed_in(trash: Path) -> list[TrashedSession]:
    try:
        if any(path.is_symlink() for path in (trash, trash.parent, trash.parent.parent)):
            return []
        with os.scandir(trash) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    matches = (TRASHED_NAME.fullmatch(name) for name in names)
    return [
        TrashedSession(id=match["id"], directory=trash / match[0], deleted_ms=int(match["at"]))
        for match in matches
        if match is not None
    ]


def _locked(directory: Path) -> int | None:
    """The log, locked so that no process can start writing it; None if there is no log."""
    try:
        descriptor = os.open(directory / LOG_NAME, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise LogInUse(f"The session {directory.name} is running. It was not deleted. Close it first.") from error
    except OSError:
        pass  # The file system does not support locks.
    return descriptor
