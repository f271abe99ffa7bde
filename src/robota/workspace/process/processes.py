"""Run the commands of a session in the foreground and the background, and end them with the session."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from robota.workspace.problems import CommandNotStarted
from robota.workspace.process.withheld_variables import NOTHING_NAMED, WithheldVariables
from robota.workspace.process.wrapped_command import NO_MORE_ACCESS, CommandWrapper, SandboxAccess, unwrapped

if TYPE_CHECKING:
    # Imported with the first command: many sessions run none.
    from robota.workspace.output.capture import OutputCapture
    from robota.workspace.process.background import BackgroundProcess
    from robota.workspace.process.command_process import CommandLaunch, CommandProcess
    from robota.workspace.process.environment import CommandEnvironment
    from robota.workspace.process.foreground import CommandOutcome, ForegroundProcess
    from robota.workspace.process.session_ports import SessionPorts
    from robota.workspace.process.tree import OrphanGuard
    from robota.workspace.process.watchdog import CommandLimits

MAX_IN_BACKGROUND: Final = 20
# Something may change just while a sandbox is being built; then it is built again.
MAX_STARTS: Final = 2
NOT_BUILT: Final = (
    "The command was not run: its sandbox could not be built, twice ({}). Nothing was changed by the command. If a "
    "program is moving or replacing files of the workspace, end it; then try again."
)

NO_SANDBOX_FOR_GUESTS: Final = (
    "The program was not started: it may only run in a sandbox, and commands here have none. Continue without it."
)


def _not_built(outcome: "CommandOutcome") -> CommandNotStarted:
    lines = f"{outcome.output_head}{outcome.output_tail}".strip().splitlines()
    return CommandNotStarted(NOT_BUILT.format(lines[-1].removesuffix(".") if lines else "it printed nothing"))


class LocalProcesses:
    """Starts a session's commands, in the foreground and in the background, and ends them on `close`."""

    def __init__(
        self,
        limits: "CommandLimits | None" = None,
        wrap: CommandWrapper = unwrapped,
        environment: Mapping[str, str] | None = None,
        withheld: WithheldVariables = NOTHING_NAMED,
        ports: "Callable[[], SessionPorts | None]" = lambda: None,
        outputs_in: Path | None = None,
        inherited: Mapping[str, str] | None = None,
    ) -> None:
        """`wrap` puts commands into a sandbox, except `unsandboxed` ones; `environment` adds to what is `inherited`.

        Without `inherited` that is the environment of this process. `withheld` removes variables from both. Long output
        is kept in `outputs_in`, where commands must not be able to replace it by a link before it is read back; by
        default that is the directory for temporary files.
        """
        self._outputs_in = outputs_in
        self._given_limits = limits
        self._wrap = wrap
        self._added = dict(environment or {})
        self._inherited = inherited
        self._withheld = withheld
        self._ports = ports
        self._opened_guard: OrphanGuard | None = None
        self._running: set[ForegroundProcess] = set()
        # All of this session, ended ones included, in the order of their start.
        self.background: tuple[BackgroundProcess, ...] = ()
        self.on_background: Callable[[], None] = lambda: None  # called when one starts or ends

    async def run(
        self,
        command: str,
        cwd: Path,
        timeout_s: float | None,
        on_output: Callable[[str], None],
        *,
        unsandboxed: bool = False,
        access: SandboxAccess = NO_MORE_ACCESS,
        is_chain: bool = False,
    ) -> "CommandOutcome":
        """Run a shell command. Cancelling kills it with all its descendants, then raises `CancelledError`.

        `unsandboxed` runs it without the sandbox, `access` extends what it may do in it; the caller must have checked
        that this is permitted.
        """
        if any(process.ending is None for process in self.background):
            access = msgspec.structs.replace(access, session_network=True)
        for _ in range(MAX_STARTS):
            async with self._running_command(command, cwd, on_output, unsandboxed, access, is_chain) as started:
                if not await started.is_over(timeout_s):
                    started.time_out()
                outcome = await started.outcome()
            if not outcome.was_not_run:
                return outcome
        raise _not_built(outcome)

    async def run_or_hand_over(
        self,
        command: str,
        cwd: Path,
        timeout_s: float,
        on_output: Callable[[str], None],
        *,
        unsandboxed: bool = False,
        access: SandboxAccess = NO_MORE_ACCESS,
        is_chain: bool = False,
    ) -> "CommandOutcome | BackgroundProcess":
        """Like `run_or_move`, but at the time limit the command continues in the background, too."""
        self._require_room()
        access = msgspec.structs.replace(access, session_network=True)
        for _ in range(MAX_STARTS):
            async with self._running_command(command, cwd, on_output, unsandboxed, access, is_chain) as started:
                if not await started.is_over_or_moved(timeout_s):
                    return self._handed_over(command, started)
                outcome = await started.outcome()
            if not outcome.was_not_run:
                return outcome
        raise _not_built(outcome)

    async def run_or_move(
        self,
        command: str,
        cwd: Path,
        timeout_s: float,
        on_output: Callable[[str], None],
        *,
        unsandboxed: bool = False,
        access: SandboxAccess = NO_MORE_ACCESS,
        is_chain: bool = False,
    ) -> "CommandOutcome | BackgroundProcess":
        """Like `run`, but the user may move the command to the background, with `move_running`."""
        if any(process.ending is None for process in self.background):
            access = msgspec.structs.replace(access, session_network=True)
        for _ in range(MAX_STARTS):
            async with self._running_command(command, cwd, on_output, unsandboxed, access, is_chain) as started:
                if not await started.is_over_or_moved(timeout_s):
                    if started.is_moved:
                        return self._handed_over(command, started)
                    started.time_out()
                outcome = await started.outcome()
            if not outcome.was_not_run:
                return outcome
        raise _not_built(outcome)

    def _handed_over(self, command: str, started: "ForegroundProcess") -> "BackgroundProcess":
        process = self._adopt(command, *started.hand_over(), started.age_s)
        process.was_moved = started.is_moved
        return process

    def start_background(self, command: str, cwd: Path, access: SandboxAccess = NO_MORE_ACCESS) -> "BackgroundProcess":
        """Start a command in the background, with an open input."""
        from robota.workspace.output.capture import OutputCapture
        from robota.workspace.process.command_process import CommandProcess

        self._require_room()
        capture = OutputCapture(self._guard.spool_prefix)
        access = msgspec.structs.replace(access, session_network=True)
        launch = self._launch(command, cwd, unsandboxed=False, has_input=True, access=access)
        return self._adopt(command, CommandProcess(launch, lambda _: None, lambda: None), capture, None)

    def launch_of_guest(self, command: str, cwd: Path) -> "CommandLaunch":
        """How to start a program that serves us from inside the sandbox. Raises `CommandNotStarted` without one."""
        if not self.is_sandboxed:
            raise CommandNotStarted(NO_SANDBOX_FOR_GUESTS)
        access = SandboxAccess(is_read_only=True)
        return self._launch(command, cwd, unsandboxed=False, has_input=True, access=access)

    @property
    def is_sandboxed(self) -> bool:
        """Whether commands run in a sandbox."""
        return self._wrap is not unwrapped

    @property
    def ports(self) -> "SessionPorts | None":
        """The ports of background processes; None if the user can reach them directly, or there are none."""
        return self._ports()

    def find_background(self, name: str) -> "BackgroundProcess | None":
        """The background process with that id, such as `bg1`."""
        return next((process for process in self.background if process.id == name), None)

    @property
    def is_running(self) -> bool:
        """Whether a foreground command runs."""
        return bool(self._running)

    def abort_running(self) -> None:
        """Stop every foreground command, as Ctrl+C would."""
        for started in self._running:
            started.abort()

    def move_running(self) -> bool:
        """Move the foreground commands to the background, if there is room; False if none of them can be moved."""
        in_background = sum(process.ending is None for process in self.background)
        if in_background + len(self._running) > MAX_IN_BACKGROUND:
            return False
        moved = [started.move() for started in self._running]
        return any(moved)

    async def end_background(self) -> None:
        """Stop all background processes; TERM lets them clean up."""
        async with asyncio.TaskGroup() as ending:
            for process in self.background:
                if process.ending is None:
                    ending.create_task(process.stop())

    def close(self) -> None:
        """Kill everything that still runs; callers waiting for a command get its outcome."""
        for started in self._running:
            started.child.kill()
        for process in self.background:
            process.end_now()
        self.background = ()
        if not self._running and self._opened_guard is not None:
            self._opened_guard.close()

    @cached_property
    def _limits(self) -> "CommandLimits":
        from robota.workspace.process.watchdog import CommandLimits

        return self._given_limits or CommandLimits()

    @cached_property
    def _environment(self) -> "CommandEnvironment":
        from robota.workspace.process.environment import CommandEnvironment

        return CommandEnvironment(self._added, self._withheld, self._inherited)

    @property
    def _guard(self) -> "OrphanGuard":
        if self._opened_guard is None:
            from robota.config.durable_file import make_private_directory
            from robota.workspace.process.tree import OrphanGuard

            self._opened_guard = OrphanGuard(self._outputs_in)
            if self._outputs_in is not None:
                with suppress(OSError):  # without it, the beginning and the end of an output are still kept
                    make_private_directory(self._outputs_in)
        return self._opened_guard

    @asynccontextmanager
    async def _running_command(
        self,
        command: str,
        cwd: Path,
        on_output: Callable[[str], None],
        unsandboxed: bool,
        access: SandboxAccess,
        is_chain: bool,
    ) -> "AsyncIterator[ForegroundProcess]":
        """Start a command; it is killed if it is left by an exception."""
        started = self._start(command, cwd, on_output, unsandboxed, access, is_chain)
        try:
            yield started
        except BaseException:
            await started.give_up()
            raise
        finally:
            self._running.discard(started)

    def _start(
        self,
        command: str,
        cwd: Path,
        on_output: Callable[[str], None],
        unsandboxed: bool,
        access: SandboxAccess,
        is_chain: bool,
    ) -> "ForegroundProcess":
        from robota.workspace.process.foreground import ForegroundProcess
        from robota.workspace.process.shell_trace import ShellTrace

        launch = self._launch(command, cwd, unsandboxed=unsandboxed, access=access)
        trace = ShellTrace() if is_chain and self.is_sandboxed and not unsandboxed else None
        launch = msgspec.structs.replace(launch, trace=trace)
        try:
            started = ForegroundProcess(launch, self._guard.spool_prefix, self._limits, on_output)
        except BaseException:
            if trace is not None:
                trace.close()
            raise
        self._running.add(started)
        return started

    def _launch(
        self,
        command: str,
        cwd: Path,
        *,
        unsandboxed: bool,
        has_input: bool = False,
        access: SandboxAccess = NO_MORE_ACCESS,
    ) -> "CommandLaunch":
        from robota.workspace.process.command_process import CommandLaunch

        return CommandLaunch(
            command=command,
            cwd=cwd,
            mark=self._guard.next_mark(),
            has_input=has_input,
            wrap=unwrapped if unsandboxed else self._wrap,
            access=access,
            environment=self._environment,
        )

    def _adopt(
        self,
        command: str,
        child: "CommandProcess",
        capture: "OutputCapture",
        age_s: float | None,
    ) -> "BackgroundProcess":
        """`age_s` is set for commands that began in the foreground; the user's time limit applies only to them."""
        from robota.workspace.process.background import BackgroundProcess

        total_s = self._limits.total_s
        left_s = None if total_s is None or age_s is None else max(0.0, total_s - age_s)
        limits = msgspec.structs.replace(self._limits, total_s=left_s, silence_s=None)
        process = BackgroundProcess(len(self.background) + 1, command, child, capture, limits)
        self.background = (*self.background, process)
        process.on_end = lambda: self.on_background()
        self.on_background()
        return process

    def _require_room(self) -> None:
        if sum(process.ending is None for process in self.background) >= MAX_IN_BACKGROUND:
            raise CommandNotStarted(
                f"The command was not run: {MAX_IN_BACKGROUND} background processes are running already. "
                "Stop one of them first."
            )
