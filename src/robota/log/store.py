"""Where sessions are stored."""

import os
import re
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from robota.config.durable_file import make_private_directory
from robota.log.chain.reader import LOG_NAME
from robota.log.errors import InvalidSessionId, NoPlaceForSessions
from robota.log.kinds.session import SessionHeader
from robota.log.record import Record, payload_of, unseal

PROJECT_DIRECTORY: Final = ".robota"
SESSIONS: Final = "sessions"
IGNORE_FILE: Final = ".gitignore"
IGNORE_EVERYTHING: Final = b"*\n"
SESSION_ID: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}"
# Enough for any header; a longer first line is not read only to show a name.
HEADER_LIMIT: Final = 65_536


class SessionPlace(msgspec.Struct, frozen=True, kw_only=True):
    """The directory that contains `sessions/`. `reason` says why it is not in the project, if it is not."""

    directory: Path
    reason: str | None = None

    def session(self, session_id: str) -> Path:
        return _session_in(self.directory, session_id)


class SessionEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A session as shown in a list. `header` is absent if the log does not start with a readable one."""

    id: str
    directory: Path
    modified_ms: int
    size: int
    header: SessionHeader | None = None


def session_directory(workspace_root: Path, session_id: str) -> Path:
    """The directory of a session in this workspace. Nothing is created."""
    return _session_in(workspace_root / PROJECT_DIRECTORY, session_id)


def fallback_directory(user_directory: Path, workspace_root: Path) -> Path:
    """A directory under the user's directory for the sessions of a workspace that cannot store them."""
    digest = sha256(os.fsencode(workspace_root)).hexdigest()[:12]
    name = re.sub(r"[^A-Za-z0-9._-]", "_", workspace_root.name)
    return user_directory / "projects" / f"{name}-{digest}"


def prepare_project_directory(root: Path, fallback: Path) -> SessionPlace:
    """Create the directory for sessions: in the project, hidden from git, or in `fallback` if that is impossible."""
    reason = _prepare_in_project(root / PROJECT_DIRECTORY)
    if reason is None:
        return SessionPlace(directory=root / PROJECT_DIRECTORY)
    try:
        make_private_directory(fallback / SESSIONS)
    except OSError as error:
        raise NoPlaceForSessions(
            f"There is no place for the session log: {reason}, and {fallback} cannot be made ({error.strerror}). "
            "Nothing was changed. Make one of them writable, or set ROBOTA_HOME to a directory that is."
        ) from error
    return SessionPlace(directory=fallback, reason=reason)


def is_valid_session_id(text: str) -> bool:
    """Whether the text can name a directory and nothing else."""
    return re.fullmatch(SESSION_ID, text) is not None and ".." not in text


def check_session_id(text: str) -> None:
    """Raise `InvalidSessionId` unless the text can name a session."""
    if not is_valid_session_id(text):
        raise InvalidSessionId(
            f"{text!r} is not a valid session id. Use letters, digits, '.', '_' and '-', begin with a letter or "
            "a digit, no '..', at most 128 characters. Nothing was changed."
        )


def new_session_id(now_ms: int, random_bytes: bytes) -> str:
    """A UUID of version 7: later ids sort after earlier ones. Needs ten random bytes."""
    random_a = int.from_bytes(random_bytes[:2]) & 0x0FFF
    random_b = int.from_bytes(random_bytes[2:10]) & 0x3FFF_FFFF_FFFF_FFFF
    value = (now_ms & 0xFFFF_FFFF_FFFF) << 80 | 0x7 << 76 | random_a << 64 | 0b10 << 62 | random_b
    digits = f"{value:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def list_sessions(root: Path, fallback: Path | None = None) -> tuple[SessionEntry, ...]:
    """The sessions of a workspace, most recently written first."""
    places = [root / PROJECT_DIRECTORY] if fallback is None else [root / PROJECT_DIRECTORY, fallback]
    entries = [entry for place in places for entry in _entries_in(place)]
    return tuple(sorted(entries, key=lambda entry: (-entry.modified_ms, entry.id)))


def _session_in(directory: Path, session_id: str) -> Path:
    check_session_id(session_id)
    return directory / SESSIONS / session_id


def _prepare_in_project(directory: Path) -> str | None:
    """Create the directory in the project. Returns why that is impossible, if it is."""
    sessions = directory / SESSIONS
    try:
        for path in (directory, sessions):
            if path.is_symlink():
                return f"{path} is a symbolic link, which is not followed"
        make_hidden_directory(directory)
        sessions.mkdir(mode=0o700, exist_ok=True)
        if not os.access(sessions, os.W_OK | os.X_OK):
            return f"{sessions} is not writable"
        if not (directory / IGNORE_FILE).exists():
            # Other files of this directory are shared through git, so only the sessions are hidden.
            _hide_from_git(sessions)
    except OSError as error:
        return f"{directory} cannot be used ({error.strerror})"
    return None


def make_hidden_directory(directory: Path) -> None:
    """Create the directory, unless it exists, and hide it from git, which ignores empty ones. Raises `OSError`.

    A killed process may have left it empty.
    """
    with suppress(FileExistsError):
        directory.mkdir(mode=0o700)
    if not any(os.scandir(directory)):
        _hide_from_git(directory)


def _hide_from_git(directory: Path) -> None:
    """Write the ignore file, unless it exists. It appears complete, even if this process is killed."""
    ignore = directory / IGNORE_FILE
    with suppress(FileExistsError):
        try:
            descriptor = os.open(directory, os.O_WRONLY | os.O_TMPFILE | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb", buffering=0) as stream:
                stream.write(IGNORE_EVERYTHING)
                os.link(f"/proc/self/fd/{descriptor}", ignore, follow_symlinks=True)
        except (AttributeError, OSError) as error:
            if isinstance(error, FileExistsError):
                raise
            _write_new(ignore)


def _write_new(ignore: Path) -> None:
    """The same for file systems without unnamed files."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(ignore, flags, 0o600), "wb") as stream:
        stream.write(IGNORE_EVERYTHING)


def _entries_in(place: Path) -> list[SessionEntry]:
    try:
        if place.is_symlink() or (place / SESSIONS).is_symlink():
            return []
        directories = list((place / SESSIONS).iterdir())
    except OSError:
        return []
    entries = (_entry(directory) for directory in directories if is_valid_session_id(directory.name))
    return [entry for entry in entries if entry is not None]


def _entry(directory: Path) -> SessionEntry | None:
    log = directory / LOG_NAME
    try:
        if not log.is_file():
            return None
        status = log.stat()
        with log.open("rb") as stream:
            first_line = stream.readline(HEADER_LIMIT)
    except OSError:
        return None
    return SessionEntry(
        id=directory.name,
        directory=directory,
        modified_ms=status.st_mtime_ns // 1_000_000,
        size=status.st_size,
        header=_header(first_line),
    )


def _header(first_line: bytes) -> SessionHeader | None:
    record = unseal(first_line.rstrip(b"\n"))
    payload = payload_of(record) if isinstance(record, Record) else None
    return payload if isinstance(payload, SessionHeader) else None
