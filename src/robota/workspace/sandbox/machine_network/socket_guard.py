"""Keep commands that use the network of the machine away from abstract Unix sockets of programs outside.

Such sockets (D-Bus, X11, container daemons) have a name in a network instead of a place in a directory, so no mount
hides them. Landlock does, from Linux 6.12 on. Otherwise the command cannot use Unix sockets at all.
"""

import os
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Final, assert_never

import msgspec

from robota.workspace.process.wrapped_command import WrappedCommand
from robota.workspace.sandbox.border import Border, Network
from robota.workspace.sandbox.bubblewrap import interpreter_inside
from robota.workspace.sandbox.seccomp import Sockets, filter_program

LAUNCHER: Final = Path(__file__).with_name("launcher.py")
CREATE_RULESET: Final = 444
ABI_WITH_SCOPES: Final = 6


class LandlockScope(msgspec.Struct, frozen=True, kw_only=True):
    """Landlock keeps the sockets outside from the command; this Python sets that up."""

    interpreter: str


class NoUnixSockets(msgspec.Struct, frozen=True, kw_only=True):
    """The command cannot use Unix sockets, not even between its own processes."""


class NoNetwork(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing keeps the sockets from the command, so it does not get the network of the machine."""


SocketGuard = LandlockScope | NoUnixSockets | NoNetwork


Wrap = Callable[[str, Border, Sequence[str], Path], WrappedCommand]


def wrap_with_network(
    wrap: Wrap,
    executable: str,
    border: Border,
    command: Sequence[str],
    cwd: Path,
    guard: SocketGuard | None = None,
) -> WrappedCommand:
    """Call `wrap` for a command in the network of the machine, so that it cannot connect to those sockets."""
    guard = guard or socket_guard(border)
    match guard:
        case LandlockScope(interpreter=interpreter):
            return _scoped(wrap, executable, border, command, cwd, interpreter)
        case NoUnixSockets():
            return wrap(executable, msgspec.structs.replace(border, sockets=Sockets.NO_UNIX), command, cwd)
        case NoNetwork():
            return wrap(executable, msgspec.structs.replace(border, network=Network.OWN), command, cwd)
        case _:
            assert_never(guard)


def socket_guard(border: Border, abi: int | None = None) -> SocketGuard:
    """What keeps abstract sockets from commands here; `abi` is the version of Landlock, by default the kernel's."""
    interpreter = interpreter_inside(border)
    if interpreter is not None and (landlock_abi() if abi is None else abi) >= ABI_WITH_SCOPES:
        return LandlockScope(interpreter=interpreter)
    return NoUnixSockets() if filter_program(sockets=Sockets.NO_UNIX) is not None else NoNetwork()


def _scoped(
    wrap: Wrap, executable: str, border: Border, command: Sequence[str], cwd: Path, interpreter: str
) -> WrappedCommand:
    script = os.open(LAUNCHER, os.O_RDONLY | os.O_CLOEXEC)
    launcher = (interpreter, "-I", "-S", f"/proc/self/fd/{script}", str(script))
    try:
        wrapped = wrap(executable, border, (*launcher, *command), cwd)
    except BaseException:
        os.close(script)
        raise

    def clean_up() -> None:
        os.close(script)
        wrapped.clean_up()

    return msgspec.structs.replace(wrapped, descriptors=(*wrapped.descriptors, script), clean_up=clean_up)


@cache
def landlock_abi() -> int:
    """The version of Landlock that this kernel has; below 1 if none."""
    import ctypes  # few commands need it

    return int(ctypes.CDLL(None).syscall(CREATE_RULESET, None, 0, 1))
