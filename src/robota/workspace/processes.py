"""Commands: run to their end, to a time limit or to cancellation, and never left behind."""

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from robota.workspace.child import Child
from robota.workspace.output import OutputKeeper, OutputPacer


class CommandOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a command ended and what it printed.

    Either `exit_code` or `signal` is set. `output_head` is all of a short output; of a long one the middle is
    in neither half, and `output_file` holds its first 256 MiB (the caller deletes it), if the disk had room.
    `left_behind` says that the command had left processes running, which were then ended.
    """

    exit_code: int | None
    signal: str | None
    timed_out: bool
    output_head: str
    output_tail: str
    total_bytes: int
    total_characters: int
    output_file: Path | None = None
    left_behind: bool = False


class Processes:
    """Starts commands and knows those that run."""

    def __init__(self) -> None:
        self._running: set[Child] = set()

    async def run(
        self, command: str, cwd: Path, timeout_s: float | None, on_output: Callable[[str], None]
    ) -> CommandOutcome:
        """Run a shell command. Cancelling ends it with everything it started, then raises `CancelledError`."""
        keeper = OutputKeeper()
        pacer = OutputPacer(on_output)
        child = Child(command, cwd, lambda data: pacer.add(keeper.add(data)))
        self._running.add(child)
        completed = False
        try:
            timed_out = await _until_end(child, timeout_s)
            completed = True
        finally:
            self._running.discard(child)
            left_behind = child.finish()
            pacer.add(keeper.finish())
            pacer.finish()
            if not completed:
                keeper.discard()
        return _outcome(child, keeper, timed_out=timed_out, left_behind=left_behind)

    def abort_running(self) -> bool:
        """Ask every running command to end, as a person's Ctrl-C would. False if none runs."""
        for child in self._running:
            child.terminate()
        return bool(self._running)

    def close(self) -> None:
        """End every command that still runs; those who wait for one get its outcome."""
        for child in self._running:
            child.kill()


async def _until_end(child: Child, timeout_s: float | None) -> bool:
    """Wait for the end; returns whether the time limit had to make it."""
    try:
        async with asyncio.timeout(timeout_s):
            await child.exited.wait()
    except TimeoutError:
        await child.stop()
        return True
    except asyncio.CancelledError:
        await child.stop()
        raise
    await child.drain()
    return False


def _outcome(child: Child, keeper: OutputKeeper, *, timed_out: bool, left_behind: bool) -> CommandOutcome:
    code = child.return_code
    by_signal = code is not None and code < 0
    return CommandOutcome(
        exit_code=None if by_signal else code,
        signal=_signal_name(-code) if code is not None and by_signal else None,
        timed_out=timed_out,
        output_head=keeper.head,
        output_tail=keeper.tail,
        total_bytes=keeper.total_bytes,
        total_characters=keeper.total_characters,
        output_file=keeper.spool,
        left_behind=left_behind and not timed_out,
    )


def _signal_name(number: int) -> str:
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"
