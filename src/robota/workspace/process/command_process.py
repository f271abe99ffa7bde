"""Run one shell command in its own session, read its output on the event loop, and end it with all its descendants."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.problems import CommandNotStarted
from robota.workspace.process.ending import Ending, StopReason
from robota.workspace.process.environment import CommandEnvironment
from robota.workspace.process.shell_trace import ShellTrace
from robota.workspace.process.tree import ProcessTree
from robota.workspace.process.watchdog import GrowthLimit
from robota.workspace.process.wrapped_command import (
    COMMAND_SHELL,
    NO_MORE_ACCESS,
    CommandWrapper,
    SandboxAccess,
    WrappedCommand,
    unwrapped,
)

GRACE_S: Final = 2.0
DRAIN_S: Final = 0.2
POLL_S: Final = 0.05
READ_BYTES: Final = 64 * 1024


class CommandLaunch(msgspec.Struct, frozen=True, kw_only=True):
    """What to start. With `has_input` the command gets a pipe as its input; otherwise it reads end of file.

    bash reports the commands that it starts to `trace`, which is closed when the command ends.
    """

    command: str
    cwd: Path
    mark: str
    environment: CommandEnvironment
    has_input: bool = False
    wrap: CommandWrapper = unwrapped
    access: SandboxAccess = NO_MORE_ACCESS
    trace: ShellTrace | None = None


class CommandProcess:
    """A running command. `exited` is set when the shell has ended, `drained` when no process holds the output open.

    `on_bytes` and `on_exit` are called from the event loop and may be replaced while it runs.
    """

    def __init__(self, launch: CommandLaunch, on_bytes: Callable[[bytes], None], on_exit: Callable[[], None]) -> None:
        self.on_bytes = on_bytes
        self.on_exit = on_exit
        self.exited = asyncio.Event()
        self.drained = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        try:
            self._wrapped = launch.wrap([COMMAND_SHELL, "-c", launch.command], launch.cwd, launch.access)
        except OSError as error:
            raise CommandNotStarted(_why_not_started(error, launch.cwd)) from error
        try:
            self._process, self._output, self.input = _start(launch, self._wrapped)
        except BaseException as error:
            self._wrapped.clean_up()
            if isinstance(error, OSError):
                raise CommandNotStarted(_why_not_started(error, launch.cwd)) from error
            raise
        self.tree = ProcessTree(self._process.pid, launch.mark, has_supervisor=self._wrapped.has_supervisor)
        self._loop.add_reader(self._output, self._read)
        self._exit_notice = self._watch_exit()

    @property
    def pid(self) -> int:
        """The process id of the shell, or of the supervisor of the sandbox."""
        return self._process.pid

    @property
    def return_code(self) -> int | None:
        """The return code as in `subprocess`: negative for a signal. Known after `finish`."""
        return self._process.returncode

    @property
    def refused_hosts(self) -> tuple[str, ...]:
        """A sentence for each host that the sandbox blocked."""
        return self._wrapped.refused_hosts()

    @property
    def growth(self) -> GrowthLimit | None:
        """How much it may write, if that is limited."""
        return self._wrapped.growth

    def missed_places(self, output: str) -> tuple[str, ...]:
        """A sentence for each place that the sandbox hides and that the output of the failed command names."""
        return self._wrapped.missed_places(output)

    @property
    def was_not_run(self) -> bool:
        """Whether the sandbox did not start the command. Known until `finish`."""
        return self._wrapped.was_not_run()

    async def write_back(self) -> tuple[str, ...]:
        """After its end: apply its changes in a copy to the original. Returns a sentence for each change left out."""
        return () if self._wrapped.write_back is None else await asyncio.to_thread(self._wrapped.write_back)

    def has_ended(self) -> bool:
        """Whether it has ended, even if the event loop has not noticed yet. Does not reap it."""
        if self.exited.is_set():
            return True
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
        except ChildProcessError:
            return True

    async def drain(self) -> None:
        """Read the remaining output, but do not wait for a grandchild that keeps the pipe open."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.drained.wait(), DRAIN_S)

    async def stop(self) -> None:
        """Send TERM to all its processes, and KILL after `GRACE_S`. Cancelling sends KILL at once."""
        self.tree.terminate()
        try:
            async with asyncio.timeout(GRACE_S):
                await self.exited.wait()
                await self._wait_until_all_ended()
                await self.drained.wait()
        except TimeoutError:
            pass
        finally:
            self.kill()
        await self.exited.wait()

    def kill(self) -> None:
        """Send KILL to all its processes without waiting for them."""
        self.tree.kill()

    def finish(self) -> bool:
        """Kill the remaining processes and release all resources. Returns whether the command left any running."""
        ended_by_itself = self.exited.is_set()
        any_alive = self.tree.kill()
        self._process.wait()
        self._read_leftovers()
        self._close()
        return any_alive and ended_by_itself

    def close_input(self) -> None:
        """Close its input, so that it reads end of file. Idempotent."""
        if self.input is not None:
            os.close(self.input)
            self.input = None

    async def _wait_until_all_ended(self) -> None:
        for _ in range(int(GRACE_S / POLL_S)):
            if not self.tree.members():
                return
            await asyncio.sleep(POLL_S)

    def _watch_exit(self) -> int | None:
        try:
            notice = os.pidfd_open(self._process.pid)
        except (AttributeError, OSError):
            # Without pidfd, a thread waits. It ends with the process, at the latest in `finish`.
            waiting = self._loop.run_in_executor(None, self._process.wait)
            waiting.add_done_callback(lambda _: self._report_exit())
            return None
        self._loop.add_reader(notice, self._on_exit_notice)
        return notice

    def _on_exit_notice(self) -> None:
        # Not reaped yet: as long as it is a zombie, its pid is not reused.
        assert self._exit_notice is not None
        self._loop.remove_reader(self._exit_notice)
        self._report_exit()

    def _report_exit(self) -> None:
        self.exited.set()
        self.on_exit()

    def _read(self) -> None:
        try:
            data = os.read(self._output, READ_BYTES)
        except BlockingIOError:
            return
        if data:
            self.on_bytes(data)
        else:
            self._loop.remove_reader(self._output)
            self.drained.set()

    def _read_leftovers(self) -> None:
        """Read what is in the pipe now. A pipe's buffer is small, so this ends even if a process is still writing."""
        for _ in range(32):
            if self.drained.is_set():
                return
            self._read()

    def _close(self) -> None:
        self.close_input()
        self._loop.remove_reader(self._output)
        os.close(self._output)
        if self._exit_notice is not None:
            self._loop.remove_reader(self._exit_notice)
            os.close(self._exit_notice)
        self._wrapped.clean_up()


def ending_of(return_code: int, stopped_for: StopReason | None, *, left_behind: bool) -> Ending:
    """The ending for a `return_code` as in `subprocess`: negative for a signal."""
    by_signal = return_code < 0
    return Ending(
        exit_code=None if by_signal else return_code,
        signal=_signal_name(-return_code) if by_signal else None,
        stopped_for=stopped_for,
        left_behind=left_behind and stopped_for is None,
    )


def _start(launch: CommandLaunch, wrapped: WrappedCommand) -> tuple["subprocess.Popen[bytes]", int, int | None]:
    """Start it; returns the process, and our ends of its output and its input."""
    output, output_end = os.pipe()
    input_end, input_ = os.pipe() if launch.has_input else (os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC), None)
    try:
        process = _spawn(launch, wrapped, input_end, output_end)
    except BaseException:
        os.close(output)
        if input_ is not None:
            os.close(input_)
        raise
    finally:
        os.close(output_end)
        os.close(input_end)
    os.set_blocking(output, False)
    if input_ is not None:
        os.set_blocking(input_, False)
    return process, output, input_


def _spawn(
    launch: CommandLaunch, wrapped: WrappedCommand, input_end: int, output_end: int
) -> "subprocess.Popen[bytes]":
    environment = launch.environment.of_command(launch.mark, wrapped.git_settings, is_sandboxed=wrapped.is_sandboxed)
    trace = launch.trace
    if trace is not None and wrapped.start_script is not None:
        os.write(wrapped.start_script, trace.instruction)
    try:
        process = subprocess.Popen(
            wrapped.argv,
            cwd=launch.cwd,
            env={**environment, **(trace.environment if trace is not None else {})},
            pass_fds=(*wrapped.descriptors, *(trace.descriptors if trace is not None else ())),
            stdin=input_end,
            stdout=output_end,
            stderr=output_end,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise CommandNotStarted(_why_not_started(error, launch.cwd)) from error
    wrapped.on_start()
    return process


def _why_not_started(error: OSError | ValueError, cwd: Path) -> str:
    if not cwd.is_dir():
        return f"The command was not run: the directory {str(cwd)!r} does not exist. Choose another working directory."
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return f"The command was not run: {reason}."


def _signal_name(number: int) -> str:
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"
