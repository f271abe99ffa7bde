"""Moves the damaged end of a log to another file, so that the log can continue. Nothing is deleted."""

import os
from pathlib import Path

from robota.log.artifacts import artifact_name, force_path_to_disk, write_whole
from robota.log.chain.reader import Loaded
from robota.log.errors import LogWriteError
from robota.log.kinds.session import RepairRecord


def repair(descriptor: int, directory: Path, loaded: Loaded) -> RepairRecord | None:
    """Truncate the file after its last valid record. Returns the record to log about it, if any.

    Damage in the middle is kept: loading skips it each time, and `verify` reports it.
    """
    try:
        if loaded.length > loaded.good_length:
            return _put_tail_aside(descriptor, directory, loaded)
        if not loaded.is_terminated:
            os.write(descriptor, b"\n")
            return _terminated(loaded)
    except OSError as error:
        raise LogWriteError(
            f"The end of the session log in {directory} is damaged and could not be repaired: {error.strerror}. "
            "The log was not changed. Free some disk space or check the directory, then try again."
        ) from error
    return None


def _put_tail_aside(descriptor: int, directory: Path, loaded: Loaded) -> RepairRecord:
    tail = os.pread(descriptor, loaded.length - loaded.good_length, loaded.good_length)
    path = _place_for(directory, loaded.last_seq + 1, tail)
    write_whole(path, tail)
    force_path_to_disk(path)
    os.ftruncate(descriptor, loaded.good_length)
    first = next(problem for problem in loaded.problems if problem.line > loaded.good_line)
    return RepairRecord(line=first.line, reason=first.flaw, removed_bytes=len(tail), saved_as=path.name)


def _place_for(directory: Path, seq: int, tail: bytes) -> Path:
    """`torn-<seq>`, or a unique name if an earlier repair has saved other bytes there."""
    path = directory / f"torn-{seq}"
    if path.exists() and path.read_bytes() != tail:
        return directory / f"torn-{seq}-{artifact_name(tail)}"
    return path


def _terminated(loaded: Loaded) -> RepairRecord:
    return RepairRecord(line=loaded.good_line, reason="the last record had no newline", removed_bytes=0)
