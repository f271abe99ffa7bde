"""Run a command under Landlock and seccomp: the arguments of the launcher, and how it is started quickly."""

import importlib.util
import marshal
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Final

from robota.workspace.files.path_status import mode_of
from robota.workspace.process.watchdog import OOM_SCORE
from robota.workspace.process.wrapped_command import WrappedCommand
from robota.workspace.sandbox.border import Border, Network
from robota.workspace.sandbox.seccomp import Sockets, filter_program, truncation_filter
from robota.workspace.sandbox.workspace_mounts import held_opening

# Links are resolved before any command runs: a link in a virtual environment in the workspace could be replaced.
INTERPRETER: Final = os.path.realpath(sys.executable)
LAUNCHER: Final = Path(__file__).with_name("landlock_launcher.py")
# Many programs write to these; nothing written there outlives the command.
HARMLESS_DEVICES: Final = ("null", "zero", "full", "random", "urandom", "tty", "ptmx")
# The others are closed: a process that may open them could read every file from disks, and keystrokes from consoles.
DEVICES: Final = Path("/dev")
SHARED_MEMORY: Final = Path("/dev/shm")
TERMINALS: Final = Path("/dev/pts")


def wrap_in_landlock(border: Border, command: Sequence[str]) -> WrappedCommand:
    """Wrap a command. Weaker than bubblewrap: it protects neither single names in the workspace nor other processes."""
    resources = ExitStack()
    # Not by path: a link that leads elsewhere could be there by now.
    held = (border.held_root.descriptor, *(held_opening(path, resources) for path in border.writable))
    has_network = border.network is Network.MACHINE
    # Landlock does not restrict to which socket in the file system a command connects, and many services of the user
    # (tmux, D-Bus, Docker, an SSH agent) do whatever they are told there.
    sockets = Sockets.NO_UNIX if has_network else Sockets.ONLY_PAIRS
    # Landlock restricts what files contain, not to whom they belong, nor memory that programs share, nor priorities.
    program = filter_program(sockets=sockets, owner=os.geteuid()) or b""
    # Landlock cannot distinguish a terminal that the command opens from one that the user types in.
    terminals = () if _has_open_terminal() else (TERMINALS,)
    devices = (*(DEVICES / name for name in HARMLESS_DEVICES), *terminals)
    home = border.home
    hidden = (*home.areas, *(path for path in home.hidden if mode_of(path)), DEVICES)
    options = [
        *_option_for_each("--writable", (border.temporary, SHARED_MEMORY)),
        *(word for descriptor in held for word in ("--held", str(descriptor))),
        *_option_for_each("--device", devices),
        *_option_for_each("--hidden", _outermost(hidden)),
        *_option_for_each("--visible", (*home.readable(), *border.shown)),
        *(("--git-config", os.devnull) if home.areas else ()),
        *("--temporary", str(border.temporary), "--network", "on" if has_network else "off"),
        *("--oom-score", str(OOM_SCORE), "--filter", program.hex()),
        *("--truncation-filter", (truncation_filter() or b"").hex()),
    ]
    script = os.memfd_create("launcher", os.MFD_CLOEXEC)
    resources.callback(os.close, script)
    os.write(script, _byte_code())
    return WrappedCommand(
        argv=(INTERPRETER, "-I", "-S", f"/proc/self/fd/{script}", *options, "--", *command),
        descriptors=(script, *held),
        clean_up=resources.close,
        is_sandboxed=True,
        git_settings=home.git_settings,
    )


@cache
def _byte_code() -> bytes:
    """The compiled launcher, as in a .pyc file: compiling it would take a fifth of the time of every command."""
    code = compile(LAUNCHER.read_bytes(), str(LAUNCHER), "exec", dont_inherit=True)
    return importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code)


def _has_open_terminal() -> bool:
    """Whether there is a terminal that a command could open, to read what is typed into it."""
    try:
        with os.scandir(TERMINALS) as entries:
            return any(entry.name.isdecimal() and os.access(entry.path, os.R_OK) for entry in entries)
    except OSError:
        return False


def _option_for_each(option: str, values: Iterable[Path]) -> list[str]:
    """The option for each path, with links resolved, because the launcher does not follow them."""
    return [word for value in values for word in (option, os.path.realpath(value))]


def _outermost(paths: Sequence[Path]) -> list[Path]:
    return [path for path in paths if not any(other in path.parents for other in paths)]
