"""One shell command as a process group of its own: started, watched without a thread, ended with all it started."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from robota.workspace.environment import command_environment
from robota.workspace.problems import CommandNotStarted

GRACE_S = 2.0
DRAIN_S = 0.2
READ_BYTES = 64 * 1024


class Child:
    """A running command. `exited` is set when the shell ended, `drained` when nobody holds its output any more."""

    def __init__(self, command: str, cwd: Path, on_bytes: Callable[[bytes], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_bytes = on_bytes
        self.exited = asyncio.Event()
        self.drained = asyncio.Event()
        self._output, output_end = os.pipe()
        try:
            self._process = _start(command, cwd, output_end)
        except BaseException:
            os.close(self._output)
            raise
        finally:
            os.close(output_end)
        os.set_blocking(self._output, False)
        self._loop.add_reader(self._output, self._read)
        self._exit_notice = self._watch_exit()

    @property
    def return_code(self) -> int | None:
        """As `subprocess` has it: negative for a signal."""
        return self._process.returncode

    async def drain(self) -> None:
        """Read what is left, but do not wait for a grandchild that keeps the output open."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.drained.wait(), DRAIN_S)

    async def stop(self) -> None:
        """TERM to everybody, KILL to whoever is still there after the grace. Safe to cancel: then KILL at once."""
        self._signal_group(signal.SIGTERM)
        try:
            async with asyncio.timeout(GRACE_S):
                await self.exited.wait()
                await self.drained.wait()
        except TimeoutError:
            pass
        finally:
            self.kill()
        await self.exited.wait()

    def terminate(self) -> None:
        """TERM to everybody, without waiting for the end."""
        self._signal_group(signal.SIGTERM)

    def kill(self) -> None:
        """KILL to everybody, without waiting for the end."""
        self._signal_group(signal.SIGKILL)

    def finish(self) -> bool:
        """End whatever is left and give everything back. Returns whether the command left processes behind."""
        left_behind = False
        if self.exited.is_set():
            self._process.wait()
            left_behind = self._signal_group(signal.SIGKILL)
        else:
            self.kill()
            self._process.wait()
        self._read_leftovers()
        self._close()
        return left_behind

    def _watch_exit(self) -> int | None:
        try:
            notice = os.pidfd_open(self._process.pid)
        except (AttributeError, OSError):
            # Systems without pidfd: a thread waits. It ends with the process, which `finish` sees to.
            waiting = self._loop.run_in_executor(None, self._process.wait)
            waiting.add_done_callback(lambda _: self.exited.set())
            return None
        self._loop.add_reader(notice, self._on_exit)
        return notice

    def _on_exit(self) -> None:
        # Not reaped yet: as long as it is a zombie, nobody else can get its process group number.
        assert self._exit_notice is not None
        self._loop.remove_reader(self._exit_notice)
        self.exited.set()

    def _read(self) -> None:
        try:
            data = os.read(self._output, READ_BYTES)
        except BlockingIOError:
            return
        if data:
            self._on_bytes(data)
        else:
            self._loop.remove_reader(self._output)
            self.drained.set()

    def _read_leftovers(self) -> None:
        """What is in the pipe now; a pipe holds little, so this ends also if somebody still writes."""
        for _ in range(32):
            if self.drained.is_set():
                return
            self._read()

    def _signal_group(self, number: signal.Signals) -> bool:
        try:
            os.killpg(self._process.pid, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def _close(self) -> None:
        self._loop.remove_reader(self._output)
        os.close(self._output)
        if self._exit_notice is not None:
            self._loop.remove_reader(self._exit_notice)
            os.close(self._exit_notice)


def _start(command: str, cwd: Path, output_end: int) -> "subprocess.Popen[bytes]":
    shell = "/bin/bash" if Path("/bin/bash").exists() else "/bin/sh"
    try:
        return subprocess.Popen(
            [shell, "-c", command],
            cwd=cwd,
            env=command_environment(os.environ),
            stdin=subprocess.DEVNULL,
            stdout=output_end,
            stderr=output_end,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise CommandNotStarted(_why_not_started(error, cwd)) from error


def _why_not_started(error: OSError | ValueError, cwd: Path) -> str:
    if not cwd.is_dir():
        return f"The command was not run: the directory {str(cwd)!r} does not exist. Choose another working directory."
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return f"The command was not run: {reason}."
