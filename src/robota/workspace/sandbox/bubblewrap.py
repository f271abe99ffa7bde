"""Run a command in bubblewrap: mounts, namespaces, system call filter and resource limits."""

import os
import re
import shlex
import stat
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from subprocess import DEVNULL
from typing import Final

import msgspec

from robota.workspace.files.path_status import mode_of
from robota.workspace.git.data_copy import Mount
from robota.workspace.outside_program import run_outside
from robota.workspace.problems import CommandNotStarted
from robota.workspace.process.watchdog import OOM_SCORE
from robota.workspace.process.wrapped_command import CHANGED_MEANWHILE, NOT_RUN, WrappedCommand
from robota.workspace.sandbox.border import Border, Network
from robota.workspace.sandbox.resource_exhaustion import raise_if_exhausted
from robota.workspace.sandbox.seccomp import Sockets, filter_program
from robota.workspace.sandbox.workspace_mounts import (
    MountCheck,
    WorkspaceMounts,
    find_workspace_mounts,
)

# Writable for real root even without capabilities, because the kernel checks only the uid for these files.
KERNEL_FILES: Final = ("/proc/sysrq-trigger",)
KERNEL_DIRECTORIES: Final = ("/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi")
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
BASH: Final = "/bin/bash"
# These would keep bash from reading the file that checks the mounts, or change what it means.
CHANGING_BASH: Final = ("POSIXLY_CORRECT", "SHELLOPTS", "BASHOPTS")
BEGUN_MARK: Final = "# begun"
READ_MOUNTS: Final = "IFS= read -r -d '' mounts < /proc/self/mountinfo"
# How the kernel writes these in its list of mounts.
ESCAPED_IN_LIST: Final = str.maketrans({mark: f"\\{ord(mark):03o}" for mark in " \t\n\\"})

# Unix sockets of the network that Robota runs in. Commands use other networks, so theirs are not in this table.
SOCKET_TABLE: Final = Path("/proc/net/unix")
# Each costs a mount for every command.
MAX_SOCKETS: Final = 32


class HomeMounts(msgspec.Struct, frozen=True, kw_only=True):
    """The options for what is visible of the home; bubblewrap reads the descriptors, again for each command."""

    words: tuple[str, ...] = ()
    descriptors: tuple[int, ...] = ()


class PinnedMounts(msgspec.Struct, frozen=True, kw_only=True):
    """The options for files with a certain content, and the descriptors that bubblewrap reads it from."""

    words: tuple[str, ...] = ()
    descriptors: tuple[int, ...] = ()
    targets: tuple[Path, ...] = ()


def wrap_in_bubblewrap(
    executable: str, border: Border, command: Sequence[str], cwd: Path, on_top: Sequence[Mount] = ()
) -> WrappedCommand:
    """Wrap a command in bubblewrap, with every protected name read-only, even if it does not exist yet.

    `on_top` are additional mounts, on top of all others. Raises `CommandNotStarted`.
    """
    with ExitStack() as resources:
        outside, sockets = _outside_sockets(border)
        workspace = find_workspace_mounts(border, outside, resources)
        program = filter_program(sockets=sockets)
        seccomp_descriptor = _readable(program, resources) if program is not None else None
        home = _home_mounts(border, resources)
        pinned = _pinned_files(executable, border, workspace, resources)
        hidden = [path for path in (*border.home.hidden, *outside) if border.root not in path.parents]
        words = bubblewrap_arguments(executable, border, home, workspace, hidden, cwd, seccomp_descriptor)
        words = [*words, *pinned.words]
        covered = [*(mount.target for mount in on_top), *pinned.targets]
        checks = tuple(check for check in workspace.checks if not _innermost(check.path, covered))
        script = _start_script(checks, command, resources)
        kept = resources.pop_all()
    return WrappedCommand(
        argv=(*words, *_on_top(on_top), *_started_by(script, command)),
        descriptors=(
            script,
            *home.descriptors,
            *pinned.descriptors,
            *(() if seccomp_descriptor is None else (seccomp_descriptor,)),
            *(check.descriptor for check in checks),
        ),
        on_start=workspace.close,
        clean_up=kept.close,
        is_sandboxed=True,
        has_supervisor=True,
        write_back=(lambda: (workspace.note,)) if workspace.note else None,
        start_script=script if _reads_script(command) else None,
        was_not_run=lambda: not _is_marked_as_begun(script),
    )


def _pinned_files(executable: str, border: Border, workspace: WorkspaceMounts, resources: ExitStack) -> PinnedMounts:
    """Copies of the files that a command must find as they were approved, mounted on top of those in the workspace.

    The file itself, mounted read-only, could still be changed by another command meanwhile. It has to do where
    bubblewrap cannot set the mode of a copy.
    """
    planned = {mount.path for mount in workspace.planned}
    targets = tuple(border.root / file.path for file in border.pinned)
    if not workspace.is_read_only and any(str(target) not in planned for target in targets):
        raise CommandNotStarted(f"The command was not run: {CHANGED_MEANWHILE}")
    if _version(executable, border.root) < KNOWS_PERMS:
        if any(target.read_bytes() != file.data for target, file in zip(targets, border.pinned, strict=True)):
            raise CommandNotStarted(f"The command was not run: {CHANGED_MEANWHILE}")
        return PinnedMounts()
    words, descriptors = list[str](), list[int]()
    for target, file in zip(targets, border.pinned, strict=True):
        descriptors.append(_readable(file.data, resources))
        mode = "0555" if file.is_executable else "0444"
        words += ("--perms", mode, "--ro-bind-data", str(descriptors[-1]), str(target))
    return PinnedMounts(words=tuple(words), descriptors=tuple(descriptors), targets=targets)


def _on_top(mounts: Sequence[Mount]) -> list[str]:
    return [
        word
        for mount in mounts
        for word in ("--bind" if mount.writable else "--ro-bind", str(mount.source), str(mount.target))
    ]


def is_visible(path: str, border: Border) -> bool:
    """Whether commands see what is at this path outside, if it exists; /tmp is a different directory inside."""
    home = border.home
    covered = (Path("/tmp"), *border.socket_directories, *home.areas, *home.hidden, *border.kept_from_model)
    shown = (border.root, *border.writable, *border.shown, *(entry.path for entry in home.visible))
    hidden_by = _innermost(path, covered)
    return not hidden_by or _innermost(path, shown) > hidden_by


def _innermost(path: str, around: Iterable[Path]) -> int:
    """How long the path of the innermost of those directories is that contain the path; 0 if none does."""
    return max((len(each) for each in map(str, around) if path == each or path.startswith(f"{each}/")), default=0)


def interpreter_inside(border: Border) -> str | None:
    """A Python that is visible in this sandbox; None if there is none."""
    candidates = (Path(sys.executable).resolve(), Path("/usr/bin/python3"))
    return next((str(path) for path in candidates if path.is_file() and is_visible(str(path), border)), None)


def _outside_sockets(border: Border) -> tuple[Sequence[Path], Sockets]:
    """Sockets of programs outside, to be covered; if there are too many, the command cannot use Unix sockets."""
    sockets = _find_outside_sockets(border)
    return ((), Sockets.NO_UNIX) if len(sockets) > MAX_SOCKETS else (sockets, border.sockets)


def _find_outside_sockets(border: Border) -> list[Path]:
    """The sockets of programs outside that a command would see.

    A command that uses the network of the machine has its sockets in the same table, so there those in the workspace
    are left out.
    """
    sockets = {os.path.realpath(name) for name in _names_of_sockets(border.socket_directories)}
    own = (border.root, *border.writable) if border.network is Network.MACHINE else ()
    seen = (socket for socket in sorted(sockets) if not _innermost(socket, own) and is_visible(socket, border))
    return [Path(socket) for socket in seen if stat.S_ISSOCK(mode_of(socket))]


def _names_of_sockets(elsewhere: Iterable[Path]) -> set[str]:
    """The absolute paths in the table. Programs that chose a relative one cannot be found.

    Those in the directories `elsewhere` are left out early, because nearly all are there.
    """
    try:
        data = SOCKET_TABLE.read_bytes()
    except OSError as error:
        raise_if_exhausted(error)
        return set()
    skipped = b"".join(rb"(?!%b/)" % re.escape(os.fsencode(directory)) for directory in elsewhere)
    return {os.fsdecode(name) for name in re.findall(rb"(?m) %b(/.+)$" % skipped, data)}


def _home_mounts(border: Border, resources: ExitStack) -> HomeMounts:
    """The mounts for one command."""
    home = border.home
    descriptors = tuple(_readable(copy.content, resources) for copy in home.copies)
    words = [word for area in home.areas for word in ("--tmpfs", str(area))]
    if home.cache is not None:
        words += ["--tmpfs", str(home.cache)]
    words += [word for entry in home.visible for word in ("--ro-bind-try", str(entry.path), str(entry.path))]
    words += [word for link in home.links for word in ("--symlink", link.target, str(link.path))]
    for copy, descriptor in zip(home.copies, descriptors, strict=True):
        words += ["--file", str(descriptor), str(copy.path)]
    words += _visible_directories(
        border, [path for path in border.shown if not _innermost(os.path.realpath(path), home.hidden)]
    )
    return HomeMounts(words=tuple(words), descriptors=descriptors)


def _visible_directories(border: Border, directories: Sequence[Path]) -> list[str]:
    """The options for directories that are visible in hidden places, also where the links to them are."""
    words: list[str] = []
    for directory in directories:
        real = os.path.realpath(directory)
        if not _innermost(real, (border.root,)):
            places = dict.fromkeys((real, str(directory)))
            words += [word for place in places for word in ("--ro-bind-try", real, place)]
    return words


def bubblewrap_arguments(
    executable: str,
    border: Border,
    home: HomeMounts,
    workspace: WorkspaceMounts,
    hidden: Sequence[Path],
    cwd: Path,
    seccomp_descriptor: int | None = None,
) -> list[str]:
    """The command line up to the options of the program itself. Later mounts are on top of earlier ones.

    bubblewrap reads the list of all mounts for each one that it makes of something existing, or changes. So these come
    first, and empty directories last.
    """
    words = [executable, "--new-session", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev"]
    words += ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"]
    words += [word for path in KERNEL_FILES for word in ("--ro-bind-try", path, path)]
    for directory in border.socket_directories:
        words += ["--tmpfs", str(directory)]
    words += [word for path in _visible_run_files() if border.socket_directories for word in ("--ro-bind", path, path)]
    words += ["--bind", str(border.temporary), "/tmp"]
    # Before the workspace, which may be in a home.
    words += [*home.words, "--ro-bind" if workspace.is_read_only else "--bind", str(border.root), str(border.root)]
    for directory in border.writable:
        words += ["--bind", str(directory), str(directory)]
    words += _covering(executable, border, workspace, hidden)
    words += [f"--unshare-{name}" for name in NAMESPACES]
    words.append("--unshare-cgroup-try")
    if border.network is Network.OWN:
        words.append("--unshare-net")
    words += ["--cap-drop", "ALL", *(word for name in TEMPORARY_VARIABLES for word in ("--unsetenv", name))]
    if seccomp_descriptor is not None:
        words += ["--seccomp", str(seccomp_descriptor)]
    return [*words, "--chdir", str(cwd)]


def _covering(executable: str, border: Border, workspace: WorkspaceMounts, hidden: Sequence[Path]) -> list[str]:
    """The options for what is mounted on top of the workspace, of what is opened, and of the home."""
    words, empty = list[str](), list[str]()
    for mount in workspace.planned:
        if mount.shows_original:
            words += ("--bind" if mount.is_pin else "--ro-bind", mount.path, mount.path)
        elif mount.is_directory:
            empty.append(mount.path)
        else:
            words += ("--ro-bind", "/dev/null", mount.path)
    for path in hidden:
        mode = mode_of(path)
        if stat.S_ISDIR(mode):
            empty.append(str(path))
        elif mode and not stat.S_ISLNK(mode):  # nothing can be mounted on a link
            words += ("--ro-bind", "/dev/null", str(path))
    # Not by their mode: a program that cannot write there must say that it is read-only, so that the cause is found.
    words += [word for area in border.home.areas for word in ("--remount-ro", str(area))]
    words += _empty_directories(executable, (*empty, *_kernel_directories()), border.root)
    if _version(executable, border.root) < KNOWS_PERMS:
        return words  # nothing can be added to the empty directories
    return words + _visible_directories(
        border, [path for path in border.shown if _innermost(os.path.realpath(path), hidden)]
    )


@cache
def _visible_run_files() -> tuple[str, ...]:
    return tuple(path for path in VISIBLE_RUN_FILES if Path(path).exists())


@cache
def _kernel_directories() -> tuple[str, ...]:
    return tuple(path for path in KERNEL_DIRECTORIES if Path(path).is_dir())


def _empty_directories(executable: str, directories: Iterable[str], root: Path) -> list[str]:
    """The options for empty directories where nothing can be created.

    They need not be read-only mounts, which take five times as long: if a command changes the mode and creates files
    there, no other process sees them.
    """
    if _version(executable, root) >= KNOWS_PERMS:
        return [word for directory in directories for word in ("--perms", "0555", "--tmpfs", directory)]
    return [word for directory in directories for word in ("--tmpfs", directory, "--remount-ro", directory)]


@cache
def _version(executable: str, root: Path) -> tuple[int, ...]:
    program = (executable, "--version")
    done = run_outside(program, workspace=root, env={}, capture_output=True, stdin=DEVNULL)
    return tuple(int(number) for number in re.findall(rb"\d+", done.stdout)[:2])


def _start_script(checks: Sequence[MountCheck], command: Sequence[str], resources: ExitStack) -> int:
    """A script that makes bash check the mounts, limit its own resources, and close the descriptors.

    Mounts are made by name, and a name may be swapped for a link just before, and back just after. So each place must
    be a mount point afterwards (else its mount is elsewhere, and opens what is there), and what is found there is
    compared with the intended target, held by descriptor. None may remain open: it would lead out of the sandbox. The
    kernel lists mounts in the order they were made. That the command begins is marked in the script itself, which the
    command cannot reach: without the mark it was not run, whatever was printed and whichever program gave up.
    """
    script = os.memfd_create("start", os.MFD_CLOEXEC)
    resources.callback(os.close, script)
    listed = "*".join(shlex.quote(f" {check.path.translate(ESCAPED_IN_LIST)} r") + "[ow]" for check in checks)
    meant = " && ".join(f"{shlex.quote(check.path)} -ef /proc/self/fd/{check.descriptor}" for check in checks)
    closed = " ".join(f"{descriptor}<&-" for descriptor in (script, *(check.descriptor for check in checks)))
    lines = (
        READ_MOUNTS,
        f"[[ $mounts == *{listed}* && {meant} ]] || {{ echo 'robota: {CHANGED_MEANWHILE}' >&2; exit {NOT_RUN}; }}",
        f"echo '{BEGUN_MARK}' >&{script}",
        f"exec {closed}",
        f"{{ {_limits()}; }} 2>/dev/null",
        "unset mounts BASH_ENV" if _reads_script(command) else "unset mounts",
        "",
    )
    os.write(script, os.fsencode("\n".join(lines)))
    return script


def _is_marked_as_begun(script: int) -> bool:
    mark = os.fsencode(f"{BEGUN_MARK}\n")
    return os.pread(script, len(mark), max(os.fstat(script).st_size - len(mark), 0)) == mark


@cache
def _limits() -> str:
    kernel = tuple(int(number) for number in re.findall(r"\d+", os.uname().release)[:2])
    return f"{RESOURCE_LIMITS}; {PROCESS_LIMIT}" if kernel >= COUNTING_KERNEL else RESOURCE_LIMITS


def _started_by(script: int, command: Sequence[str]) -> tuple[str, ...]:
    """What bubblewrap executes, after its own options, so that bash reads the script before the command runs.

    A bash that is the command itself reads it first: one more shell would take a tenth of the time of every command.
    """
    file = f"/proc/self/fd/{script}"
    changing = tuple(word for name in CHANGING_BASH for word in ("--unsetenv", name))
    if _reads_script(command):
        return (*changing, "--setenv", "BASH_ENV", file, "--", *command)
    return (*changing, "--", BASH, "-p", "-c", f'. {file} || exit {NOT_RUN}; exec "$@"', "robota", *command)


def _reads_script(command: Sequence[str]) -> bool:
    return tuple(command[:2]) == (BASH, "-c")


def _readable(content: bytes, resources: ExitStack) -> int:
    """An in-memory file for bubblewrap to read: the filter program, or the content of a file."""
    descriptor = os.memfd_create("bubblewrap", os.MFD_CLOEXEC)
    resources.callback(os.close, descriptor)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
