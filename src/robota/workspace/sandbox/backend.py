"""Detect which sandbox works on this machine (bubblewrap, Landlock or none) by running a program in it."""

import os
from collections.abc import Sequence
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from subprocess import DEVNULL, TimeoutExpired
from tempfile import TemporaryDirectory
from typing import Final, assert_never

import msgspec

from robota.text.visible import single_line
from robota.workspace.files.confined_paths import HeldRoot
from robota.workspace.files.path_status import mode_of
from robota.workspace.outside_program import find_program, run_outside
from robota.workspace.problems import CommandNotStarted
from robota.workspace.process.environment import command_environment
from robota.workspace.process.wrapped_command import (
    CHANGED_MEANWHILE,
    NO_MORE_ACCESS,
    NOT_RUN,
    SandboxAccess,
    WrappedCommand,
)
from robota.workspace.sandbox.border import Border, Network
from robota.workspace.sandbox.bubblewrap import wrap_in_bubblewrap
from robota.workspace.sandbox.git_access import wrap_with_git_data
from robota.workspace.sandbox.landlock import wrap_in_landlock
from robota.workspace.sandbox.machine_network.socket_guard import wrap_with_network
from robota.workspace.sandbox.resource_exhaustion import (
    ResourcesExhausted,
    raise_if_exhausted,
    raise_if_output_reports_exhaustion,
)
from robota.workspace.sandbox.session_network import JoinedNetwork

PROBE: Final = ("/bin/true",)
# In bubblewrap, bash must have read the file that checks the mounts, which unsets the variable that names it.
PROBE_OF_BASH: Final = ("/bin/bash", "-c", '[ -z "$BASH_ENV" ]')
PROBE_SECONDS: Final = 20.0
MAX_PROBLEM: Final = 200
CANNOT_PROTECT: Final = "bubblewrap cannot protect what is in it ({})"
NOT_IN_THIS_WORKSPACE: Final = (
    "The command was not run: bubblewrap works on this machine, but not in this workspace ({}). Remove what it cannot "
    "handle, such as very long paths, or let the user run the command without the sandbox."
)


class SandboxKind(StrEnum):
    """The mechanism that confines a command, the strongest first."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    NONE = "none"


class SandboxBackend(msgspec.Struct, frozen=True, kw_only=True):
    """The strongest kind that works here, and what commands may access. `reason` says why it is not a stronger one.

    `network` is a network that commands join; without it, each command has its own empty one.
    """

    kind: SandboxKind
    border: Border
    executable: str = ""
    reason: str = ""
    network: JoinedNetwork | None = None

    def wrap(
        self, command: Sequence[str], cwd: Path | None = None, access: SandboxAccess = NO_MORE_ACCESS
    ) -> WrappedCommand:
        """Wrap a command in the sandbox. Must not be called if the kind is NONE."""
        if access.writable:
            writable = (*self.border.writable, *access.writable)
            opened = msgspec.structs.replace(self, border=msgspec.structs.replace(self.border, writable=writable))
            return opened.wrap(command, cwd, msgspec.structs.replace(access, writable=()))
        match self.kind:
            case SandboxKind.BUBBLEWRAP:
                return self._wrap_in_bubblewrap(command, cwd or self.border.root, access)
            case SandboxKind.LANDLOCK:
                return wrap_in_landlock(self.border, command)
            case SandboxKind.NONE:
                raise ValueError("There is no sandbox on this machine.")
            case _:
                assert_never(self.kind)

    def _wrap_in_bubblewrap(self, command: Sequence[str], cwd: Path, access: SandboxAccess) -> WrappedCommand:
        wrap = wrap_with_git_data if access.git_data else wrap_in_bubblewrap
        if self.border.network is Network.MACHINE:
            return wrap_with_network(wrap, self.executable, self.border, command, cwd)
        if self.network is None:
            return wrap(self.executable, self.border, command, cwd)
        border = msgspec.structs.replace(self.border, network=Network.SESSION)
        wrapped = wrap(self.executable, border, command, cwd)
        return msgspec.structs.replace(wrapped, argv=(*self.network.prefix, *wrapped.argv))


def detect_backend(border: Border) -> SandboxBackend:
    """The strongest kind that can run a program with exactly this border; `ResourcesExhausted` if that is unknown."""
    reasons: list[str] = []
    executable = find_program("bwrap", os.environ, not_beneath=border.root)
    if executable is None:
        reasons.append("bubblewrap is not installed")
    else:
        backend = _in_bubblewrap(executable, border)
        if isinstance(backend, SandboxBackend):
            return backend
        reasons.append(f"bubblewrap does not work here ({backend})")
    candidate = SandboxBackend(kind=SandboxKind.LANDLOCK, border=border, reason="; ".join(reasons))
    problem = _secret_within(border) or probe(candidate)
    if problem is None:
        return candidate
    reasons.append(f"Landlock does not work here ({problem})")
    return SandboxBackend(kind=SandboxKind.NONE, border=border, reason="; ".join(reasons))


def _in_bubblewrap(executable: str, border: Border) -> SandboxBackend | str:
    """The sandbox in bubblewrap, or why that does not work on this machine. Raises `CommandNotStarted`.

    What is in the workspace must not decide which sandbox is used: with a weaker one, commands could change what is
    protected. If only this workspace is the problem (paths that are too long), commands cannot change it.
    """
    candidate = _with_border(executable, border)
    # A second time, because a program outside may have ended meanwhile, and its socket is not there to be covered.
    problem = probe(candidate) and probe(candidate)
    if problem is None:
        return candidate
    problem = single_line(problem, MAX_PROBLEM)
    closed = msgspec.structs.replace(border, unprotectable=CANNOT_PROTECT.format(problem))
    if probe(candidate := _with_border(executable, closed)) is None:
        return candidate
    if _works_elsewhere(executable, border):
        raise CommandNotStarted(NOT_IN_THIS_WORKSPACE.format(problem))
    return problem


def _with_border(executable: str, border: Border) -> SandboxBackend:
    return SandboxBackend(kind=SandboxKind.BUBBLEWRAP, border=border, executable=executable, reason=border.limitations)


def _works_elsewhere(executable: str, border: Border) -> bool:
    """Whether the same sandbox works around an empty directory."""
    with TemporaryDirectory(prefix="robota-probe-") as empty, ExitStack() as held:
        root = HeldRoot(Path(os.path.realpath(empty)))
        held.callback(root.close)
        elsewhere = msgspec.structs.replace(border, held_root=root, protected_names=(), closed_paths=())
        return probe(_with_border(executable, elsewhere)) is None


def _secret_within(border: Border) -> str | None:
    """Why Landlock is not enough: it opens a directory with all its content, in a home directory also our settings."""
    for path in (path for path in border.home.hidden if mode_of(path)):
        if any(path.is_relative_to(wide) for wide in (border.root, *border.writable)):
            return f"it cannot hide {str(path)!r} inside the workspace; work in a directory without secrets"
    return None


def probe(candidate: SandboxBackend) -> str | None:
    """Run a program in the sandbox; returns the problem, or None. `CommandNotStarted` if the failure proves nothing."""
    try:
        # What the workspace lacks says nothing about the sandbox: with a weaker one, the command would run unprotected.
        wrapped = candidate.wrap(PROBE_OF_BASH if candidate.kind is SandboxKind.BUBBLEWRAP else PROBE)
    except OSError as error:
        raise_if_exhausted(error)
        return type(error).__name__
    try:
        done = run_outside(
            wrapped.argv,
            workspace=candidate.border.root,
            env=command_environment(os.environ),  # like that of a command: an exported function could shadow `exit`
            pass_fds=wrapped.descriptors,
            stdin=DEVNULL,
            capture_output=True,
            timeout=PROBE_SECONDS,
        )
    except OSError as error:
        raise_if_exhausted(error)
        return error.strerror or type(error).__name__
    except TimeoutExpired as error:
        raise ResourcesExhausted(f"trying it took longer than {PROBE_SECONDS:g} seconds") from error
    finally:
        wrapped.clean_up()
    if done.returncode == 0:
        return None
    words = done.stderr.decode("utf-8", "replace").strip()
    raise_if_output_reports_exhaustion(words)
    if done.returncode == NOT_RUN and CHANGED_MEANWHILE in words:
        raise CommandNotStarted(f"The command was not run: {CHANGED_MEANWHILE}")
    return words.splitlines()[-1] if words else "it failed"
