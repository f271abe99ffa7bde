"""Data that is too large for a record: files next to the log, named by their content."""

import errno
import os
import stat
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

from robota.log.errors import ArtifactMissing, LogWriteError
from robota.secrets.redaction import Redactor

ARTIFACTS_NAME: Final = "artifacts"
NAME_LENGTH: Final = 32
# Long enough to distinguish the artifacts of a session; a longer name is used if two would begin alike.
SHORT_LENGTH: Final = 8
COPY_BYTES: Final = 1024 * 1024
HEX_DIGITS: Final = frozenset("0123456789abcdef")


class SessionArtifacts:
    """The files that one session stores next to its log. Known secrets in them are redacted."""

    def __init__(self, session: Path, redactor: Redactor, wrote: Callable[[Path], None]) -> None:
        """`session` is the session directory; `wrote` is called with each file that must be synced to disk."""
        self.directory = session / ARTIFACTS_NAME
        self._redactor = redactor
        self._wrote = wrote

    def keep(self, data: bytes) -> str:
        """Store data; returns its name."""
        name, is_new = keep_artifact(self.directory, self._redactor(data))
        if is_new:
            self._wrote(self.directory / name)
        return name

    async def keep_file(self, path: Path) -> tuple[str, bool]:
        """Move a file to the artifacts, in a thread because this may take seconds. Also returns whether it was new."""
        import asyncio  # not needed by those who only write files as derived from a log

        name, is_new = await asyncio.to_thread(self._cover_and_move, path)
        if is_new:
            self._wrote(self.directory / name)
        return name, is_new

    def _cover_and_move(self, path: Path) -> tuple[str, bool]:
        try:
            self._redactor.redact_file(path)
        except OSError as error:
            raise LogWriteError(
                f"Could not look through {path} for secrets: {error.strerror}. It was not saved; the log was not "
                "changed."
            ) from error
        return keep_artifact_file(self.directory, path)


def keep_artifact(directory: Path, data: bytes) -> tuple[str, bool]:
    """Store `data` once. Returns its name, and whether it had to be written."""
    name = artifact_name(data)
    path = directory / name
    try:
        _make_own(directory)
        if _size_of_plain(path) == len(data):
            return name, False
        write_whole(path, data)
    except OSError as error:
        raise LogWriteError(
            f"Could not keep {len(data)} bytes in {directory}: {error.strerror}. "
            "The log was not changed. Free some disk space or check the directory, then try again."
        ) from error
    return name, True


def keep_artifact_file(directory: Path, source: Path) -> tuple[str, bool]:
    """Like `keep_artifact`, for a file, which is moved and never loaded into memory."""
    try:
        name = _name_of_file(source)
        path = directory / name
        _make_own(directory)
        if _size_of_plain(path) == source.stat().st_size:
            source.unlink()
            return name, False
        _move(source, path)
    except OSError as error:
        raise LogWriteError(
            f"Could not keep {source} in {directory}: {error.strerror}. "
            "The log was not changed. Free some disk space or check the directory, then try again."
        ) from error
    return name, True


def short_name(directory: Path, name: str) -> str:
    """The beginning of a name that no other artifact shares. Models get that: every digit costs them tokens."""
    others = [other for other in _names_in(directory) if other != name]
    for length in range(SHORT_LENGTH, NAME_LENGTH):
        if not any(other.startswith(name[:length]) for other in others):
            return name[:length]
    return name


def find_artifact(directory: Path, name: str) -> Path:
    """The path of the artifact with that name or short name."""
    if not SHORT_LENGTH <= len(name) <= NAME_LENGTH or not HEX_DIGITS.issuperset(name):
        raise ArtifactMissing(f"{name!r} is not the id of a stored output. Use one that a result named.")
    names = [other for other in _names_in(directory) if other.startswith(name)]
    if len(names) > 1:
        raise ArtifactMissing(
            f"Several stored outputs begin with {name}. Use one of their whole ids: {', '.join(names)}."
        )
    if not names:
        raise ArtifactMissing(
            f"There is no stored output {name} in this session. Use an id that a result named, or make the call again."
        )
    return artifact_path(directory, names[0])


def artifact_path(directory: Path, name: str) -> Path:
    """The path of an artifact, for readers that need only a part of it."""
    if len(name) != NAME_LENGTH or not HEX_DIGITS.issuperset(name):
        raise ArtifactMissing(f"{name!r} is not the name of an artifact: those have {NAME_LENGTH} hex digits.")
    path = directory / name
    # Following a link could lead out of the workspace.
    if directory.is_symlink() or _size_of_plain(path) is None:
        raise ArtifactMissing(f"There is no artifact {name} in {directory}.")
    return path


def read_artifact(directory: Path, name: str) -> bytes:
    """The exact bytes that were stored under `name`."""
    try:
        data = artifact_path(directory, name).read_bytes()
    except OSError as error:
        raise ArtifactMissing(f"There is no artifact {name} in {directory}: {error.strerror}.") from error
    if artifact_name(data) != name:
        raise ArtifactMissing(f"The artifact {directory / name} is damaged: its content is not what was saved.")
    return data


def artifact_name(data: bytes) -> str:
    """The name of an artifact: the beginning of the SHA-256 of its content."""
    return sha256(data).hexdigest()[:NAME_LENGTH]


def _names_in(directory: Path) -> list[str]:
    try:
        entries = [path.name for path in directory.iterdir()]
    except OSError:
        return []
    return sorted(entry for entry in entries if len(entry) == NAME_LENGTH and HEX_DIGITS.issuperset(entry))


def _name_of_file(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as stream:
        while piece := stream.read(COPY_BYTES):
            digest.update(piece)
    return digest.hexdigest()[:NAME_LENGTH]


def _move(source: Path, target: Path) -> None:
    """Rename the file or, across file systems, copy it and then remove the original."""
    source.chmod(0o600)
    try:
        source.replace(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        unfinished = target.with_name(f"{target.name}.part")
        with source.open("rb") as reader, os.fdopen(_new_private(unfinished), "wb") as writer:
            while piece := reader.read(COPY_BYTES):
                writer.write(piece)
        unfinished.replace(target)
        source.unlink()


def write_whole(path: Path, *data: bytes) -> None:
    """Write the file atomically: it appears with all of its content or not at all. One writer at a time."""
    unfinished = path.with_name(f"{path.name}.part")
    try:
        _write_private(unfinished, data)
        unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


def _write_private(path: Path, data: Sequence[bytes]) -> None:
    with os.fdopen(_new_private(path), "wb") as stream:
        stream.writelines(data)


def _new_private(path: Path) -> int:
    """Create a new file. Anything that a repository has put in its place is removed, not written to."""
    path.unlink(missing_ok=True)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _make_own(directory: Path) -> None:
    directory.mkdir(mode=0o700, exist_ok=True)
    if directory.is_symlink():
        raise OSError(errno.ELOOP, "it is a symbolic link, which is not followed")


def _size_of_plain(path: Path) -> int | None:
    """The size of a regular file; None for anything else, including a link to one."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def force_path_to_disk(path: Path) -> None:
    """Sync the content of a file, or the entries of a directory."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
