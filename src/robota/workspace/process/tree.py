"""All processes of a command: its session, their descendants, and processes with the command's mark.

A process group is not enough: `setsid`, a double fork or job control leave it. The mark is in the environment, which
children inherit. On a system without /proc, only the process group is found.

If Robota is killed without a chance to clean up, its commands must die too: a small shell process, the guardian, kills
them by their marks. The kernel's parent death signal reaches only the shell of a command and not its children, and
setting it needs code between fork and exec. The guardian reads from a pipe that only Robota can write to: if the pipe
is closed without a message, Robota is gone.
"""

import os
import signal
import weakref
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from subprocess import DEVNULL
from time import monotonic
from typing import TYPE_CHECKING, Final

import msgspec

from robota.workspace.output.capture import spool_prefix
from robota.workspace.outside_program import start_outside
from robota.workspace.problems import CommandNotStarted
from robota.workspace.process.environment import unmarked

if TYPE_CHECKING:
    from subprocess import Popen

PROC: Final = Path("/proc")
# Pids are assigned in turn; within this time they cannot have wrapped around to ours.
NO_WRAP_S: Final = 10
MAX_ROUNDS: Final = 20
DEAD: Final = frozenset("ZX")
# Exits on a message from Robota; end of file without one means that Robota is gone.
GUARDIAN_SCRIPT: Final = r"""
trap '' HUP INT TERM
PATH=/usr/local/bin:/usr/bin:/bin
read -r word && exit 0
for round in 1 2 3 4 5; do
  for place in $(grep -lF -e "$1" /proc/[0-9]*/environ 2>/dev/null); do
    place=${place#/proc/}
    kill -KILL "${place%/environ}" 2>/dev/null
  done
done
rm -f "$2"*
"""


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A running process. `cpu_ticks` and `start_ticks` are from the kernel; pid and start together are unique."""

    pid: int
    state: str
    parent: int
    session: int
    cpu_ticks: int
    start_ticks: int


class ProcessTree:
    """The processes of one command. `shell` must not be reaped as long as the tree is in use."""

    def __init__(self, shell: int, mark: str, *, has_supervisor: bool = False) -> None:
        """With `has_supervisor`, `shell` is the init process of a sandbox: if it ends, everything inside is killed."""
        self.shell = shell
        self._has_supervisor = has_supervisor
        self._mark = f"{mark};".encode()
        self._born = monotonic()

    def members(self) -> list[Member]:
        """The running processes, parents before their children."""
        return list(self._living())

    def count(self, most: int) -> int:
        """The number of running processes; stops counting at `most`, because inspecting each takes time."""
        return sum(1 for _ in islice(self._living(), most))

    def terminate(self) -> None:
        """Send TERM to all processes except the supervisor of a sandbox, whose end would kill the others."""
        if not self._has_supervisor:
            self.signal(signal.SIGTERM)
            return
        for member in self.members():
            if member.pid != self.shell:
                _signal_member(member, signal.SIGTERM)

    def signal(self, number: signal.Signals) -> bool:
        """Send a signal to all processes. Returns whether any was running."""
        members = self.members()
        group_was_there = _signal_group(self.shell, number)
        for member in members:
            if member.session != self.shell:
                _signal_member(member, number)
        return bool(members) if PROC.exists() else group_was_there

    def kill(self) -> bool:
        """Send KILL until no new process is found, because they may start others meanwhile. Returns as `signal`."""
        any_alive = self.signal(signal.SIGKILL)
        killed: set[tuple[int, int]] = set()
        for _ in range(MAX_ROUNDS):
            fresh = [member for member in self.members() if (member.pid, member.start_ticks) not in killed]
            if not fresh:
                break
            for member in fresh:
                _signal_member(member, signal.SIGKILL)
                killed.add((member.pid, member.start_ticks))
        return any_alive

    def kill_group(self) -> None:
        """Send KILL to the shell's process group, which stops a simple fork bomb, without looking up the processes."""
        _signal_group(self.shell, signal.SIGKILL)

    def _living(self) -> Iterator[Member]:
        living: set[int] = set()
        sessions = {self.shell}
        others: list[Member] = []
        for pid in self._candidates():
            member = read_member(pid)
            if member is None or member.state in DEAD:
                continue
            if member.session in sessions or member.parent in living or self._is_marked(pid):
                living.add(pid)
                sessions.add(member.session)
                yield member
            else:
                others.append(member)
        # Once pids have wrapped around, a child can have a smaller one than its parent.
        while related := [each for each in others if each.session in sessions or each.parent in living]:
            others = [each for each in others if each not in related]
            living.update(each.pid for each in related)
            sessions.update(each.session for each in related)
            yield from related

    def _candidates(self) -> list[int]:
        """The pids of processes that can be younger than the shell, in ascending order."""
        try:
            with os.scandir(PROC) as entries:
                pids = sorted(int(entry.name) for entry in entries if entry.name.isdecimal())
        except OSError:
            return []
        if newest_pid() < self.shell or monotonic() - self._born > NO_WRAP_S:
            return pids
        return [pid for pid in pids if pid >= self.shell]

    def _is_marked(self, pid: int) -> bool:
        try:
            return self._mark in (PROC / str(pid) / "environ").read_bytes()
        except OSError:
            return False


class OrphanGuard:
    """Gives every command of one owner a mark; if Robota dies without cleaning up, marked processes are killed."""

    def __init__(self, outputs_in: Path | None = None) -> None:
        """`outputs_in` is the directory of their output files; by default that for temporary files."""
        self._outputs_in = outputs_in
        self._mark = os.urandom(8).hex()
        self._count = 0
        self._guardian: GuardianProcess | None = None

    @property
    def spool_prefix(self) -> str:
        """The prefix of the names of their output files."""
        return spool_prefix(self._mark, self._outputs_in)

    def next_mark(self) -> str:
        """A mark for the environment of the next command; the first one starts the guardian process."""
        if self._guardian is None:
            try:
                self._guardian = GuardianProcess(f"{self._mark}.", self.spool_prefix)
            except OSError as error:
                raise CommandNotStarted(
                    f"Nothing was run: {error.strerror}. Try again, or continue without commands."
                ) from error
        self._count += 1
        return f"{self._mark}.{self._count}"

    def close(self) -> None:
        """End the guardian process; `next_mark` starts a new one. Idempotent."""
        if self._guardian is not None:
            self._guardian.dismiss()
            self._guardian = None


class GuardianProcess:
    """A shell that, if Robota dies, kills the commands marked with `mark` and removes the files named `files`*."""

    def __init__(self, mark: str, files: str) -> None:
        read_end, write_end = os.pipe()
        try:
            process = start_outside(
                ["/bin/sh", "-c", GUARDIAN_SCRIPT, "robota-guardian", mark, files],
                workspace=None,
                cwd="/",
                env=unmarked(os.environ),
                stdin=read_end,
                stdout=DEVNULL,
                stderr=DEVNULL,
                start_new_session=True,
            )
        except BaseException:
            os.close(write_end)
            raise
        finally:
            os.close(read_end)
        # Also runs on garbage collection and at exit of the interpreter: only a killed Robota sends no message.
        self._dismissal = weakref.finalize(self, _dismiss, process, write_end)

    def dismiss(self) -> None:
        """End the shell without killing anything. Idempotent."""
        self._dismissal()


def newest_pid() -> int:
    """The pid that was assigned last on this machine; 0 if unknown."""
    try:
        return int((PROC / "loadavg").read_text().split()[-1])
    except (OSError, ValueError):
        return 0


def read_member(pid: int) -> Member | None:
    """Read the state of a process from /proc; None if it is gone."""
    try:
        stat = (PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    # The name of the program comes first, in parentheses, and may itself contain spaces and parentheses.
    fields = stat[stat.rindex(b")") + 2 :].split()
    return Member(
        pid=pid,
        state=fields[0].decode(),
        parent=int(fields[1]),
        session=int(fields[3]),
        cpu_ticks=int(fields[11]) + int(fields[12]),
        start_ticks=int(fields[19]),
    )


def _signal_group(group: int, number: signal.Signals) -> bool:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _signal_member(member: Member, number: signal.Signals) -> None:
    """Send a signal by pidfd, so that a process that got the same pid meanwhile is not hit."""
    try:
        descriptor = os.pidfd_open(member.pid)
    except OSError:
        return
    try:
        again = read_member(member.pid)
        if again is not None and again.start_ticks == member.start_ticks:
            with suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(descriptor, number)
    finally:
        os.close(descriptor)


def _dismiss(process: "Popen[bytes]", write_end: int) -> None:
    with suppress(BrokenPipeError):
        os.write(write_end, b"done\n")
    os.close(write_end)
    process.wait()
