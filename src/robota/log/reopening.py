"""Reopens a session: opens its log for writing and replays it."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from robota.log.chain.head import head_path, noted_head
from robota.log.chain.reader import LOG_NAME, LoadProblem, scan
from robota.log.chain.writer import SessionLog, wall_clock_ms
from robota.log.errors import LogError, LogNewer, LogUnreadable
from robota.log.kinds.session import SessionHeader
from robota.log.replay.reading import LogReading
from robota.log.replay.session import SessionFold
from robota.log.snapshot_keeper import SnapshotKeeper, drop_snapshot, snapshot_path
from robota.log.store import prepare_project_directory
from robota.secrets.redaction import Redactor
from robota.version import VERSION

PROBLEMS_SHOWN: Final = 3
CHANGED: Final = (
    "The log of the session was changed by another program since it was last read. Run `robota sessions verify` for "
    "details."
)


class ReopenedSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session whose log has been reopened. `left_ms` is the time of its last record.

    `is_own`: the log is intact, exactly what was written on this machine at this path. If only the end of the log was
    read, `damage_in_old_part` checks the rest, which is slow, and returns warnings for the user if it was changed.
    """

    id: str
    log: SessionLog
    session: SessionFold
    left_ms: int
    is_own: bool
    notices: tuple[str, ...] = ()
    damage_in_old_part: Callable[[], tuple[str, ...]] | None = None


def reopen_session(
    directory: Path, user_directory: Path, now_ms: Callable[[], int], redactor: Redactor | None = None
) -> ReopenedSession:
    """Open the log in a session directory and replay it. Raises `LogError`, with the log unchanged."""
    if not (directory / LOG_NAME).exists():
        raise LogUnreadable(
            f"There is no log in {directory}, so there is nothing to resume. Nothing was changed. `robota sessions "
            "list` lists the sessions."
        )
    head_file = head_path(user_directory, directory)
    noted = noted_head(head_file)
    reading = LogReading(snapshot_path(user_directory, directory), noted)
    log, loaded = SessionLog.open(
        directory,
        now_ms,
        redactor,
        head_file=head_file,
        prepare=_prepare(directory),
        read=reading.read,
    )
    log.on_growth(SnapshotKeeper(user_directory, directory))
    try:
        session = reading.session()
        refuse_newer(directory, session.header)
    except LogError:
        log.close()
        raise
    look_through = partial(_damage_in_old_part, reading, log.path, user_directory)
    return ReopenedSession(
        id=directory.name,
        log=log,
        session=session,
        left_ms=loaded.last_ts,
        is_own=noted is not None and reading.is_own and not reading.has_late_header and not loaded.problems,
        notices=(*_damage(loaded.problems), *_rewriting(reading, head_file)),
        damage_in_old_part=look_through if reading.has_old_part else None,
    )


def open_to_add(
    directory: Path,
    user_directory: Path | None,
    redactor: Redactor | None = None,
    *,
    progress: Callable[[int], object] = lambda _: None,
) -> SessionLog:
    """Open the log of a session to append a record, reading only from its snapshot on. Raises `LogError`.

    A log that was not written on this machine is not marked as one of this machine afterwards.
    """
    head_file = None if user_directory is None else head_path(user_directory, directory)
    noted = None if head_file is None else noted_head(head_file)
    snapshot = None if user_directory is None else snapshot_path(user_directory, directory)
    reading = LogReading(snapshot, noted, progress=progress)
    log, _ = SessionLog.open(
        directory, wall_clock_ms, redactor, head_file=None if noted is None else head_file, read=reading.read
    )
    return log


def _rewriting(reading: LogReading, head_file: Path) -> tuple[str, ...]:
    """A warning if the log differs from what was written on this machine."""
    noted = noted_head(head_file)
    if noted is None or reading.is_own:
        return ()
    return (
        f"The log of the session does not hold its record {noted.seq} as it was written on this machine: it "
        "was cut off or rewritten by another program. Run `robota sessions verify` for details.",
    )


def _damage_in_old_part(reading: LogReading, log: Path, user_directory: Path) -> tuple[str, ...]:
    if reading.old_part_is_unchanged(log):
        return ()
    drop_snapshot(user_directory, log.parent)
    try:
        return _damage(scan(log, lambda *_: None).problems) or (CHANGED,)
    except LogError as error:
        return (str(error),)


def _prepare(directory: Path) -> Callable[[], object]:
    """Creates the project directory again if it is deleted while the session runs."""
    project = directory.parent.parent
    return lambda: prepare_project_directory(project.parent, project)


def refuse_newer(directory: Path, header: SessionHeader | None) -> None:
    """Raise `LogNewer` if the log was last written by a version that this one may not understand."""
    written_by = header.version if header is not None else ""
    if _numbers(written_by) > _numbers(VERSION):
        raise LogNewer(
            f"The session in {directory} was last written by robota {written_by}, and this is robota {VERSION}, which "
            "may not understand all of it. It was not changed. Use that version, or a newer one."
        )


def _numbers(version: str) -> tuple[int, ...]:
    """Major and minor version: patch releases do not change the format."""
    parts = version.split(".")[:2]
    return tuple(int(part) for part in parts) if all(part.isascii() and part.isdecimal() for part in parts) else ()


def _damage(problems: Sequence[LoadProblem]) -> tuple[str, ...]:
    """A one-line warning about the parts of the log that could not be read."""
    if not problems:
        return ()
    more = len(problems) - PROBLEMS_SHOWN
    shown = " ".join(problem.text for problem in problems[:PROBLEMS_SHOWN]) + (f" And {more} more." if more > 0 else "")
    return (f"The log of the session is damaged; the rest of it was resumed, and nothing was deleted. {shown}",)
