"""Run a command in bubblewrap: mounts, namespaces, system call filter and resource limits."""

import os
import re
import stat
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from subprocess import DEVNULL
from typing import Final, assert_never

import msgspec

from robota.workspace.git.data_copy import Mount
from robota.workspace.outside_program import run_outside
from robota.workspace.process.watchdog import OOM_SCORE
from robota.workspace.process.wrapped_command import WrappedCommand
from robota.workspace.sandbox.border import Border, Network
from robota.workspace.sandbox.home.access import HomeAccess
from robota.workspace.sandbox.home.file_mode import mode_of
from robota.workspace.sandbox.seccomp import Sockets, filter_program
from robota.workspace.sandbox.workspace_mounts import (
    MountCheck,
    MountKind,
    PlannedMount,
    WorkspaceMounts,
    find_workspace_mounts,
)

# Writable for real root even without capabilities, because the kernel checks only the uid for these files.
KERNEL_INTERFACES: Final = ("/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi")
# Plain files in the hidden socket directories that programs need to resolve host names, or to find themselves.
VISIBLE_RUN_FILES: Final = (
    "/run/systemd/resolve/stub-resolv.conf",
    "/run/systemd/resolve/resolv.conf",
    "/run/NetworkManager/resolv.conf",
    "/run/resolvconf/resolv.conf",
    "/run/current-system",
)
# The directory for temporary files outside. Inside it is always /tmp, because others are not writable.
TEMPORARY_VARIABLES: Final = ("TMPDIR", "TMP", "TEMP")
# The first version of bubblewrap with `--perms`.
KNOWS_PERMS: Final = (0, 5)
NAMESPACES: Final = ("user", "pid", "ipc", "uts")
# No core dumps; no file above 16 GiB (in KiB), which would fill the disk; and if memory runs out, the
# command is killed first. The watchdog sets the latter too, but only for bwrap, which may have forked already.
RESOURCE_LIMITS: Final = f"ulimit -c 0; ulimit -f 16777216; echo {OOM_SCORE} > /proc/self/oom_score_adj"
# Against fork bombs. The option is -u in some shells and -p in others. Older kernels count processes outside as well.
PROCESS_LIMIT: Final = "ulimit -u 4096 || ulimit -p 4096"
COUNTING_KERNEL: Final = (5, 14)
# Other shells cannot close a descriptor above 9.
CHECKING_SHELL: Final = "/bin/bash"
CHANGED_MEANWHILE: Final = (
    "the workspace changed while the sandbox was being built, so the command was not run. Try again."
)
NOT_RUN: Final = 125
# Mounts are made by name, and a name may be swapped for a link just before, and back just after. So each place must be
# a mount point afterwards (else its mount is elsewhere, and opens what is there), and what is found there is compared
# with what was meant, held by descriptor. None may remain open: it would lead out of the sandbox.
CHECK_MOUNTS: Final = (
    "IFS= read -r -d '' mounts < /proc/self/mountinfo; "
    'while [ "$1" != -- ]; do [[ $mounts == *" $3 r"[ow]* && "$2" -ef "/proc/self/fd/$1" ]] || '
    f"{{ echo 'robota: {CHANGED_MEANWHILE}' >&2; exit {NOT_RUN}; }}; held=$1; exec {{held}}<&-; shift 3; done; shift"
)
# How the kernel writes these in its list of mounts.
ESCAPED_IN_LIST: Final = str.maketrans({mark: f"\\{ord(mark):03o}" for mark in " \t\n\\"})

# Unix sockets of the network that Robota runs in. Those of commands are in other networks, so not in this table.
SOCKET_TABLE: Final = Path("/proc/net/unix")
# Each costs a mount for every command.
MAX_SOCKETS: Final = 32


class HomeMounts(msgspec.Struct, frozen=True, kw_only=True):
    """`first` comes before the workspace, which may be in a home; `last` closes what is left open until then.

    The descriptors are read by bubblewrap, so that each command needs its own.
    """

    first: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    descriptors: tuple[int, ...] = ()


def wrap_in_bubblewrap(
    executable: str, border: Border, command: Sequence[str], cwd: Path, on_top: Sequence[Mount] = ()
) -> WrappedCommand:
    """Wrap a command in bubblewrap, with every protected name read-only, even those that do not exist yet.

    `on_top` are additional mounts, on top of all others. Raises `CommandNotStarted`.
    """
    with ExitStack() as resources:
        outside, sockets = _outside_sockets(border)
        workspace = find_workspace_mounts(border, outside, resources)
        program = filter_program(sockets=sockets)
        seccomp_descriptor = _readable(program, resources) if program is not None else None
        home = _home_mounts(border.home, resources)
        hidden = (place for place in (*border.home.hidden, *outside) if border.root not in place.parents)
        mounts = msgspec.structs.replace(home, last=(*home.last, *_masked(hidden)))
        words = bubblewrap_arguments(executable, border, mounts, workspace, cwd, seccomp_descriptor)
        checks = tuple(check for check in workspace.checks if not _is_covered(check.place, on_top))
        kept = resources.pop_all()
    return WrappedCommand(
        argv=(*words, *_on_top(on_top), "--", *_limiting_shell(checks), *command),
        descriptors=(
            *home.descriptors,
            *(() if seccomp_descriptor is None else (seccomp_descriptor,)),
            *(check.descriptor for check in checks),
        ),
        on_start=workspace.close,
        clean_up=kept.close,
        is_sandboxed=True,
        has_supervisor=True,
        write_back=(lambda: (workspace.note,)) if workspace.note else None,
    )


def _is_covered(place: Path, mounts: Sequence[Mount]) -> bool:
    return any(place.is_relative_to(mount.target) for mount in mounts)


def _on_top(mounts: Sequence[Mount]) -> list[str]:
    return [
        word
        for mount in mounts
        for word in ("--bind" if mount.writable else "--ro-bind", str(mount.source), str(mount.target))
    ]


def is_visible(place: Path, border: Border) -> bool:
    """Whether commands see what is at this place outside, if it exists; /tmp is a different directory inside."""
    home = border.home
    covered = (Path("/tmp"), *border.socket_directories, *home.areas, *home.hidden, *border.kept_from_model)
    shown = (Path("/"), border.root, *border.writable, *(entry.place for entry in home.visible))
    return _depth(place, shown) > _depth(place, covered)


def _depth(place: Path, around: Iterable[Path]) -> int:
    """How deep the innermost of those directories is that contain the place; 0 if none does."""
    return max((len(each.parts) for each in around if place.is_relative_to(each)), default=0)


def interpreter_inside(border: Border) -> str | None:
    """A Python that is visible in this sandbox; None if there is none."""
    own = Path(sys.executable).resolve()
    return next(
        (str(place) for place in (own, Path("/usr/bin/python3")) if place.is_file() and is_visible(place, border)), None
    )


def _outside_sockets(border: Border) -> tuple[Sequence[Path], Sockets]:
    """Sockets of programs outside, to be covered; if there are too many, the command cannot use Unix sockets."""
    found = _find_outside_sockets(border)
    return ((), Sockets.NO_UNIX) if len(found) > MAX_SOCKETS else (found, border.sockets)


def _find_outside_sockets(border: Border) -> list[Path]:
    """The sockets of programs outside that a command would see.

    A command that uses the network of the machine has its sockets in the same table, so there those in the workspace
    are left out.
    """
    names = _names_of_sockets(border.socket_directories)
    places = {Path(os.path.realpath(name)) for name in names}
    own = (border.root, *border.writable) if border.network is Network.MACHINE else ()
    seen = (place for place in places if is_visible(place, border) and not any(map(place.is_relative_to, own)))
    return sorted(place for place in seen if _is_socket(place))


def _names_of_sockets(elsewhere: Iterable[Path]) -> set[str]:
    """The absolute paths in the table. Programs that chose a relative one cannot be found.

    Those in the directories `elsewhere` are left out early, because nearly all are there.
    """
    try:
        data = SOCKET_TABLE.read_bytes()
    except OSError:
        return set()
    skipped = b"".join(rb"(?!%b/)" % re.escape(os.fsencode(place)) for place in elsewhere)
    return {os.fsdecode(name) for name in re.findall(rb"(?m) %b(/.+)$" % skipped, data)}


def _is_socket(place: Path) -> bool:
    try:
        return stat.S_ISSOCK(place.lstat().st_mode)
    except OSError:
        return False


def _home_mounts(home: HomeAccess, resources: ExitStack) -> HomeMounts:
    """The mounts for one command."""
    descriptors = tuple(_readable(copy.content, resources) for copy in home.copies)
    first = [word for area in home.areas for word in ("--tmpfs", str(area))]
    if home.cache is not None:
        first += ["--tmpfs", str(home.cache)]
    first += [word for entry in home.visible for word in ("--ro-bind-try", str(entry.place), str(entry.place))]
    first += [word for link in home.links for word in ("--symlink", link.target, str(link.place))]
    for copy, descriptor in zip(home.copies, descriptors, strict=True):
        first += ["--file", str(descriptor), str(copy.place)]
    last = [word for area in home.areas for word in ("--remount-ro", str(area))]
    return HomeMounts(first=tuple(first), last=tuple(last), descriptors=descriptors)


def _masked(places: Iterable[Path]) -> list[str]:
    """The options that empty those of the places that exist. Nothing can be mounted on a link."""
    words: list[str] = []
    for place in places:
        mode = mode_of(place)
        if stat.S_ISDIR(mode):
            words += ["--tmpfs", str(place), "--remount-ro", str(place)]
        elif mode and not stat.S_ISLNK(mode):
            words += ["--ro-bind", "/dev/null", str(place)]
    return words


def bubblewrap_arguments(
    executable: str,
    border: Border,
    home: HomeMounts,
    workspace: WorkspaceMounts,
    cwd: Path,
    seccomp_descriptor: int | None = None,
) -> list[str]:
    """The command line up to the `--`. Later mounts are on top of earlier ones."""
    words = [executable, "--new-session", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev"]
    for place in border.socket_directories:
        words += ["--tmpfs", str(place)]
    if border.socket_directories:
        words += [word for path in VISIBLE_RUN_FILES for word in ("--ro-bind-try", path, path)]
    words += ["--bind", str(border.temporary), "/tmp"]
    words += [*home.first, "--ro-bind" if workspace.is_read_only else "--bind", str(border.root), str(border.root)]
    for place in border.writable:
        words += ["--bind", str(place), str(place)]
    for mount in workspace.planned:
        words += _planned(executable, mount, border.root)
    words += home.last
    words += [f"--unshare-{name}" for name in NAMESPACES]
    words.append("--unshare-cgroup-try")
    if border.network is Network.OWN:
        words.append("--unshare-net")
    words += ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"]
    words += [word for path in KERNEL_INTERFACES for word in ("--ro-bind-try", path, path)]
    words += ["--cap-drop", "ALL", *(word for name in TEMPORARY_VARIABLES for word in ("--unsetenv", name))]
    if seccomp_descriptor is not None:
        words += ["--seccomp", str(seccomp_descriptor)]
    return [*words, "--chdir", str(cwd)]


def _planned(executable: str, mount: PlannedMount, root: Path) -> tuple[str, ...]:
    """The options for one mount in the workspace."""
    place = str(mount.place)
    match mount.kind:
        case MountKind.PIN:
            return ("--bind", place, place)
        case MountKind.READ_ONLY:
            return ("--ro-bind", place, place)
        case MountKind.HIDDEN if not mount.is_directory:
            return ("--ro-bind", "/dev/null", place)
        case MountKind.EMPTY | MountKind.HIDDEN:
            return _empty_directory(executable, place, root)
        case _:
            assert_never(mount.kind)


def _empty_directory(executable: str, place: str, root: Path) -> tuple[str, ...]:
    """The options for an empty directory in which nothing can be created.

    It need not be a read-only mount, which takes five times as long: if a command changes the mode and creates files
    there, no other process sees them.
    """
    if _version(executable, root) >= KNOWS_PERMS:
        return ("--perms", "0555", "--tmpfs", place)
    return ("--tmpfs", place, "--remount-ro", place)


@cache
def _version(executable: str, root: Path) -> tuple[int, ...]:
    program = (executable, "--version")
    done = run_outside(program, workspace=root, env={}, capture_output=True, stdin=DEVNULL)
    return tuple(int(number) for number in re.findall(rb"\d+", done.stdout)[:2])


def _limiting_shell(checks: Sequence[MountCheck]) -> tuple[str, ...]:
    """The command line of a shell that checks the mounts, limits its own resources and then executes the command."""
    kernel = tuple(int(number) for number in re.findall(r"\d+", os.uname().release)[:2])
    limits = f"{RESOURCE_LIMITS}; {PROCESS_LIMIT}" if kernel >= COUNTING_KERNEL else RESOURCE_LIMITS
    script = f'{CHECK_MOUNTS}; {{ {limits}; }} 2>/dev/null; exec "$@"'
    words = (
        word
        for check in checks
        for word in (str(check.descriptor), str(check.place), str(check.place).translate(ESCAPED_IN_LIST))
    )
    return (CHECKING_SHELL, "-p", "-c", script, "robota", *words, "--")


def _readable(content: bytes, resources: ExitStack) -> int:
    """An in-memory file descriptor from which bubblewrap reads the content: the filter program, or that of a file."""
    descriptor = os.memfd_create("bubblewrap", os.MFD_CLOEXEC)
    resources.callback(os.close, descriptor)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
