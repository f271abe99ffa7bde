"""Read the input that is piped into the command."""

import os
import select
import stat
from collections.abc import Callable
from typing import Final, TextIO

MAX_BYTES: Final = 10_000_000
READ_TIMEOUT_S: Final = 3.0


class StdinProblem(Exception):
    """Standard input cannot be used as a prompt."""


def piped_input(
    stdin: TextIO | None, *, prompt_given: bool, warn: Callable[[str], None], timeout_s: float = READ_TIMEOUT_S
) -> str:
    """Everything on standard input, if it is not a terminal.

    If there is a prompt, a pipe that another process left open must not block us: if nothing arrives for a while, we
    continue without it and print a notice.
    """
    if stdin is None:
        return ""
    try:
        descriptor = stdin.fileno()
        if os.isatty(descriptor):
            return ""
        if prompt_given and not _has_something(descriptor, timeout_s):
            warn("no data on standard input; continuing with the prompt alone.")
            return ""
        data = _read_all(descriptor)
    except (OSError, ValueError):
        return ""
    if len(data) > MAX_BYTES:
        limit = f"{MAX_BYTES:,} bytes"
        raise StdinProblem(f"Standard input is larger than {limit}. Use a file and name it in the prompt.")
    return data.decode("utf-8-sig", "replace").strip("\n")


def _has_something(descriptor: int, timeout_s: float) -> bool:
    """Whether data or end of file arrives in time; only pipes and sockets can block."""
    mode = os.fstat(descriptor).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return True
    return bool(select.select([descriptor], [], [], timeout_s)[0])


def _read_all(descriptor: int) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while size <= MAX_BYTES and (piece := os.read(descriptor, 1 << 16)):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)
