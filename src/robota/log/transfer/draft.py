"""Creates a session from existing records; it appears completely or not at all."""

import contextlib
import errno
import os
import shutil
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec

from robota.config.claimed_directory import ClaimedDirectory, claim_directory, remove_unclaimed
from robota.config.durable_file import only_writer
from robota.log.artifacts import ARTIFACTS_NAME, artifact_path, force_path_to_disk
from robota.log.chain.head import ChainHead, head_path, is_late_header, note_head, noted_head
from robota.log.chain.reader import LOG_NAME, LineSpan, scan
from robota.log.errors import ArtifactMissing, LogExists, LogWriteError
from robota.log.kinds.session import SessionHeader
from robota.log.record import FIRST_PREV, Payload, Record, kind_of, seal
from robota.log.store import SESSIONS, check_session_id, fallback_directory, prepare_project_directory
from robota.protocol.permission_mode import PermissionMode
from robota.secrets.redaction import Redactor

# In the directory of the sessions; the name is not a valid session id.
DRAFTS: Final = ".new"


def foreign_header(header: SessionHeader, new_id: str, root: Path) -> SessionHeader:
    """The header of a copy of a log that somebody else may have written.

    It works in this directory, permits nothing, and does not choose the provider that gets to see the project.
    """
    mode = PermissionMode.PLAN if header.permission_mode is PermissionMode.PLAN else PermissionMode.DEFAULT
    return msgspec.structs.replace(header, id=new_id, cwd=str(root), provider="", permission_mode=mode)


class DraftSession:
    """Writes records to a hidden directory, which is renamed to the session once everything is on disk.

    Records keep their times as long as these increase; secrets that the redactor knows never reach the disk.
    """

    def __init__(self, root: Path, user_directory: Path, session_id: str, redactor: Redactor) -> None:
        check_session_id(session_id)
        place = prepare_project_directory(root, fallback_directory(user_directory, root))
        self.root = root
        self._target = place.directory / SESSIONS / session_id
        self._user_directory = user_directory
        self._redactor = redactor
        self._head, self._seq, self._ts = FIRST_PREV, 0, 0
        if self._target.exists():
            raise LogExists(f"There is already a session {session_id}. Nothing was changed.")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            self._claimed = _claimed_in(self._target.parent)
        except OSError as error:
            raise _not_written(error) from error
        self.directory = self._claimed.path
        try:
            self._stream = os.fdopen(os.open(self.directory / LOG_NAME, flags, 0o600), "wb")
        except OSError as error:
            _remove(self._claimed)
            raise _not_written(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove an unfinished draft, which no other process could see."""
        with contextlib.suppress(OSError):
            self._stream.close()
        _remove(self._claimed)
        if isinstance(error, OSError):
            raise _not_written(error) from error

    def is_own(self, directory: Path) -> bool:
        """Whether the log of another session is what was written on this machine, as far as its note reaches."""
        noted = noted_head(head_path(self._user_directory, directory))
        if noted is None:
            return False
        owners: list[int] = []
        late: list[int] = []

        def look_at(record: Record, _: LineSpan) -> None:
            if record.hash == noted.hash:
                owners.append(record.seq)
            elif is_late_header(record, noted):
                late.append(record.seq)

        loaded = scan(directory / LOG_NAME, look_at)
        return owners == [noted.seq] and not late and not loaded.problems

    def next_ts(self, wanted: int) -> int:
        """A time for the next record or row: the given one, or the next free one."""
        self._ts = max(wanted, self._ts + 1)
        return self._ts

    def add(self, kind: str, payload: bytes, ts: int) -> None:
        """Write a record with a JSON payload. Raises `LogWriteError`."""
        self._seq += 1
        line, self._head = seal(self._seq, self.next_ts(ts), kind, self._redactor(payload), self._head)
        try:
            self._stream.write(line)
        except OSError as error:  # not to be mistaken for an error of the source log
            raise _not_written(error) from error

    def append(self, payload: Payload, ts: int = 0) -> None:
        """Write a record; without a time it gets the one right after the last."""
        self.add(kind_of(payload), payload.to_json(), ts)

    def add_sealed_log(self, source: Path, head: ChainHead, last_ts: int) -> None:
        """Start with the unchanged bytes of a log; added records continue its chain."""
        with source.open("rb") as reader:
            shutil.copyfileobj(reader, self._stream, 1024 * 1024)
        self._head, self._seq, self._ts = head.hash, head.seq, last_ts

    def take_artifacts(self, source: Path) -> None:
        """Copy the artifacts of another log."""
        if not source.is_dir() or source.is_symlink():
            return
        target = self.directory / ARTIFACTS_NAME
        target.mkdir(mode=0o700, exist_ok=True)
        for path in sorted(source.iterdir()):
            with contextlib.suppress(ArtifactMissing):
                if not path.is_symlink():
                    shutil.copyfile(artifact_path(source, path.name), target / path.name)

    def finish(self) -> Path:
        """Sync everything to disk and rename the draft to the session. Returns its directory."""
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()
        force_path_to_disk(self.directory)
        if self._target.exists():
            raise LogExists(f"There is already a session {self._target.name}. Nothing was changed.")
        self.directory.rename(self._target)
        place = os.fsencode(self._target.absolute()).decode("utf-8", "replace")
        note_head(head_path(self._user_directory, self._target), ChainHead(self._seq, self._head, place))
        return self._target


def remove_abandoned_drafts(sessions: Path) -> None:
    """Remove the drafts of killed processes. `sessions` is the directory of the sessions."""
    if (sessions / DRAFTS).is_symlink():
        return
    with contextlib.suppress(OSError), only_writer(sessions, make=False):
        remove_unclaimed(sessions / DRAFTS)
        (sessions / DRAFTS).rmdir()


def _claimed_in(sessions: Path) -> ClaimedDirectory:
    drafts = sessions / DRAFTS
    if drafts.is_symlink():
        raise OSError(errno.ELOOP, f"{drafts} is a symbolic link, which is not followed")
    with only_writer(sessions):
        return claim_directory(drafts)


def _remove(claimed: ClaimedDirectory) -> None:
    """Remove a draft, and the directory of drafts if it was the last one. The lock keeps others from creating one."""
    drafts = claimed.path.parent
    with contextlib.suppress(OSError), only_writer(drafts.parent, make=False):
        claimed.remove()
        drafts.rmdir()


def _not_written(error: OSError) -> LogWriteError:
    return LogWriteError(
        f"The session could not be written: {error.strerror}. Nothing was changed. "
        "Free some space or check the directory, then try again."
    )
