"""One shell command as a process of its own session: started, watched without a thread, ended with all it started."""

import asyncio
import os
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.problems import CommandNotStarted
from robota.workspace.process.environment import command_environment, marked, without_loader_settings, without_secrets
from robota.workspace.process.tree import ProcessTree
from robota.workspace.sandbox.wrapped_command import Wrap, Wrapped, unwrapped

GRACE_S: Final = 2.0
DRAIN_S: Final = 0.2
LOOK_S: Final = 0.05
READ_BYTES: Final = 64 * 1024


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """What to start. With `has_input` the command can be written to; otherwise it reads the end of the file."""

    command: str
    cwd: Path
    mark: str
    has_input: bool = False
    wrap: Wrap = unwrapped
    environment: Mapping[str, str] = {}


class Child:
    """A running command. `exited` is set when the shell ended, `drained` when nobody holds its output any more.

    `on_bytes` and `on_exit` are called from the event loop and may be replaced while it runs.
    """

    def __init__(self, launch: Launch, on_bytes: Callable[[bytes], None], on_exit: Callable[[], None]) -> None:
        self.on_bytes = on_bytes
        self.on_exit = on_exit
        self.exited = asyncio.Event()
        self.drained = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._wrapped = launch.wrap([_shell(), "-c", launch.command], launch.cwd)
        try:
            self._process, self._output, self.input = _start(launch, self._wrapped)
        except BaseException:
            self._wrapped.clean_up()
            raise
        self.tree = ProcessTree(self._process.pid, launch.mark, has_keeper=self._wrapped.has_keeper)
        self._loop.add_reader(self._output, self._read)
        self._exit_notice = self._watch_exit()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def return_code(self) -> int | None:
        """As `subprocess` has it: negative for a signal. Known after `finish`."""
        return self._process.returncode

    @property
    def refused(self) -> tuple[str, ...]:
        """A sentence for each host that the sandbox kept it from."""
        return self._wrapped.refused()

    async def drain(self) -> None:
        """Read what is left, but do not wait for a grandchild that keeps the output open."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.drained.wait(), DRAIN_S)

    async def stop(self) -> None:
        """TERM to everybody, KILL to whoever is still there after the grace. Safe to cancel: then KILL at once."""
        self.tree.ask_to_end()
        try:
            async with asyncio.timeout(GRACE_S):
                await self.exited.wait()
                await self._until_all_are_gone()
                await self.drained.wait()
        except TimeoutError:
            pass
        finally:
            self.kill()
        await self.exited.wait()

    def kill(self) -> None:
        """KILL to everybody, without waiting for the end."""
        self.tree.kill()

    def finish(self) -> bool:
        """End whatever is left and give everything back. Returns whether the command left processes behind."""
        ended_by_itself = self.exited.is_set()
        somebody = self.tree.kill()
        self._process.wait()
        self._read_leftovers()
        self._close()
        return somebody and ended_by_itself

    def close_input(self) -> None:
        """The command reads the end of its input. Doing it twice does nothing."""
        if self.input is not None:
            os.close(self.input)
            self.input = None

    async def _until_all_are_gone(self) -> None:
        for _ in range(int(GRACE_S / LOOK_S)):
            if not self.tree.members():
                return
            await asyncio.sleep(LOOK_S)

    def _watch_exit(self) -> int | None:
        try:
            notice = os.pidfd_open(self._process.pid)
        except (AttributeError, OSError):
            # Systems without pidfd: a thread waits. It ends with the process, which `finish` sees to.
            waiting = self._loop.run_in_executor(None, self._process.wait)
            waiting.add_done_callback(lambda _: self._tell_exit())
            return None
        self._loop.add_reader(notice, self._notice_exit)
        return notice

    def _notice_exit(self) -> None:
        # Not reaped yet: as long as it is a zombie, nobody else can get its number.
        assert self._exit_notice is not None
        self._loop.remove_reader(self._exit_notice)
        self._tell_exit()

    def _tell_exit(self) -> None:
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
        """What is in the pipe now; a pipe holds little, so this ends also if somebody still writes."""
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


def _shell() -> str:
    return "/bin/bash" if Path("/bin/bash").exists() else "/bin/sh"


def _start(launch: Launch, wrapped: Wrapped) -> tuple["subprocess.Popen[bytes]", int, int | None]:
    """The process, and our ends of its output and its input."""
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


def _spawn(launch: Launch, wrapped: Wrapped, input_end: int, output_end: int) -> "subprocess.Popen[bytes]":
    environment = command_environment({**os.environ, **without_loader_settings(launch.environment)})
    if wrapped.is_sandboxed:
        environment = without_secrets(environment)
    try:
        return subprocess.Popen(
            wrapped.argv,
            cwd=launch.cwd,
            env=marked(environment, launch.mark),
            pass_fds=wrapped.descriptors,
            stdin=input_end,
            stdout=output_end,
            stderr=output_end,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise CommandNotStarted(_why_not_started(error, launch.cwd)) from error


def _why_not_started(error: OSError | ValueError, cwd: Path) -> str:
    if not cwd.is_dir():
        return f"The command was not run: the directory {str(cwd)!r} does not exist. Choose another working directory."
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return f"The command was not run: {reason}."
