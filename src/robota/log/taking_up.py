"""Going on with a session: its log opened for writing, and what it says."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from robota.log.chain.head import ChainHead, head_path, noted_head
from robota.log.chain.reader import LOG_NAME, LoadProblem, scan
from robota.log.chain.writer import SessionLog
from robota.log.errors import LogError, LogNewer, LogUnreadable
from robota.log.kinds.session import SessionHeader
from robota.log.record import Record
from robota.log.replay.session import ReplayedSession
from robota.log.replay.streamed import StreamedReplay
from robota.log.store import prepare_project_directory
from robota.secrets.redaction import Redactor
from robota.version import VERSION

PROBLEMS_TOLD: Final = 3


class TakenUp(msgspec.Struct, frozen=True, kw_only=True):
    """A session whose log is open again. `left_ms` is when its last record was written."""

    id: str
    log: SessionLog
    session: ReplayedSession
    left_ms: int
    notices: tuple[str, ...] = ()


def take_up_session(
    directory: Path, user_directory: Path, now_ms: Callable[[], int], redactor: Redactor | None = None
) -> TakenUp:
    """Open the log in a session directory and read it. Raises `LogError`; the log is then as it was."""
    if not (directory / LOG_NAME).exists():
        raise LogUnreadable(
            f"There is no log in {directory}, so there is nothing to take up. Nothing was changed. "
            "`robota sessions list` shows the sessions there are."
        )
    head_file = head_path(user_directory, directory)
    reading = _Reading(noted_head(head_file))
    log, loaded = SessionLog.open(
        directory, now_ms, redactor, head_file=head_file, prepare=_prepare(directory), take=reading.take
    )
    try:
        session = reading.replay.session(lambda take: scan(log.path, take))
        refuse_newer(directory, session.header)
    except LogError:
        log.close()
        raise
    return TakenUp(
        id=directory.name,
        log=log,
        session=session,
        left_ms=loaded.last_ts,
        notices=(*_damage(loaded.problems), *reading.rewriting()),
    )


class _Reading:
    """What is made of the records while they are read, so that a long log is never in memory as a whole."""

    def __init__(self, noted: ChainHead | None) -> None:
        """`noted` is the record that the log must hold if it is the one that was written on this machine."""
        self.replay = StreamedReplay()
        self._noted = noted
        self._is_own = noted is None

    def take(self, record: Record) -> None:
        noted = self._noted
        if noted is not None and record.seq == noted.seq and record.hash == noted.hash:
            self._is_own = True
        self.replay.take(record)

    def rewriting(self) -> tuple[str, ...]:
        """Says so if the log is not the one that was written on this machine."""
        if self._noted is None or self._is_own:
            return ()
        return (
            f"The log of the session does not hold its record {self._noted.seq} as it was written on this machine: it "
            "was cut off or written anew by another program. `robota sessions verify` says more.",
        )


def _prepare(directory: Path) -> Callable[[], object]:
    """Makes the place of the session again, if it is deleted while the session runs."""
    project = directory.parent.parent
    return lambda: prepare_project_directory(project.parent, project)


def refuse_newer(directory: Path, header: SessionHeader | None) -> None:
    """Raise `LogNewer` if the log was last written by a version that this one may not understand."""
    written_by = header.version if header is not None else ""
    if _numbers(written_by) > _numbers(VERSION):
        raise LogNewer(
            f"The session in {directory} was last written by robota {written_by}, and this is robota {VERSION}, which "
            "may not understand all of it. It was left as it is. Use that version, or a newer one."
        )


def _numbers(version: str) -> tuple[int, ...]:
    """Major and minor number: what a patch changes can be read by all."""
    parts = version.split(".")[:2]
    return tuple(int(part) for part in parts) if all(part.isascii() and part.isdecimal() for part in parts) else ()


def _damage(problems: Sequence[LoadProblem]) -> tuple[str, ...]:
    """What of the log could not be read, in one line."""
    if not problems:
        return ()
    more = len(problems) - PROBLEMS_TOLD
    told = " ".join(problem.text for problem in problems[:PROBLEMS_TOLD]) + (f" And {more} more." if more > 0 else "")
    return (f"The log of the session is damaged; the rest of it is taken up, and nothing was deleted. {told}",)
