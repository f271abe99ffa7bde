"""What is mounted in the workspace, and in directories opened for it, for one command: the border as it is now.

A directory that contains a mount can be renamed, one that is a mount cannot. So every directory on the way from the
root to a protected or hidden path is pinned: mounted on itself. Renaming out of a pinned directory gives EXDEV, and
programs then copy instead. Everything is held by descriptor, opened without following a link.
"""

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import Final, assert_never

import msgspec

from robota.workspace.files.path_status import outermost_absent
from robota.workspace.problems import CommandNotStarted
from robota.workspace.sandbox.border import Border
from robota.workspace.sandbox.placeholders import Placeholders
from robota.workspace.sandbox.repositories import SubmodulePlaces, bare_repository_names, find_submodules
from robota.workspace.sandbox.resource_exhaustion import raise_if_exhausted

LOOKING: Final = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
READ_ONLY_NOW: Final = (
    "The command could not change the workspace, which was read-only for it: commands must not create {!r}, and "
    "nothing could be put in its place. Make its directory writable (chmod u+w), then try again."
)
NOT_ACCESSIBLE: Final = (
    "The command was not run: the workspace cannot be looked into, so nothing in it can be protected. Make it "
    "accessible (chmod u+rwx), then try again."
)


class MountKind(StrEnum):
    """What a command finds at a path."""

    PIN = "pin"  # what is there: a writable directory that can be neither moved nor removed
    READ_ONLY = "read-only"  # what is there, which cannot be changed
    EMPTY = "empty"  # an empty directory
    HIDDEN = "hidden"  # an empty directory or file instead of what is there


class PlannedMount(msgspec.Struct, frozen=True, kw_only=True):
    """A mount at a path, and a descriptor of what is there; a placeholder, which is empty, is not held."""

    kind: MountKind
    path: str
    descriptor: int | None
    is_directory: bool

    @property
    def is_pin(self) -> bool:
        """Whether it only keeps a directory where it is."""
        return self.kind is MountKind.PIN

    @property
    def shows_original(self) -> bool:
        """Whether the command finds there what the descriptor holds."""
        return self.is_pin or self.kind is MountKind.READ_ONLY


class MountCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What a command must find at a path, held by descriptor."""

    path: str
    descriptor: int


class WorkspaceMounts(msgspec.Struct, frozen=True, kw_only=True):
    """The mounts for one command, in the order they must be made.

    `close` closes the descriptors, which a command needs only until it has started. `note` is for the user: why
    the workspace is read-only for this command.
    """

    is_read_only: bool
    planned: tuple[PlannedMount, ...]
    checks: tuple[MountCheck, ...]
    close: Callable[[], None]
    note: str = ""


def find_workspace_mounts(border: Border, hidden: Sequence[Path], resources: ExitStack) -> WorkspaceMounts:
    """Find what to mount, and put placeholders under missing names until `resources` are closed.

    `hidden` are further paths to hide. Raises `CommandNotStarted`.
    """
    root = border.held_root.descriptor
    submodules = find_submodules(border.root)
    kept_free = (*submodules.kept_free, *bare_repository_names(border.root))
    names = _names_to_block((*border.protected_names, *kept_free), border.root)
    placeholders = Placeholders(names, border.held_root)
    resources.callback(placeholders.release)
    is_read_only = bool(border.unprotectable or submodules.unprotectable or placeholders.unblocked)
    # Paths are text here: this runs for every command, and `Path` takes longer than opening the files.
    kinds = dict.fromkeys(map(str, (*border.kept_from_model, *border.home.hidden, *hidden)), MountKind.HIDDEN)
    if not is_read_only:
        kinds = {**_protected(border, submodules, placeholders.standing, names), **kinds}
    held = resources.enter_context(ExitStack())
    tops = {border.root: root, **{directory: held_opening(directory, held) for directory in border.writable}}
    planned: list[PlannedMount] = []
    for top, descriptor in tops.items():
        plan = _MountPlan(top, descriptor, kinds)
        held.callback(plan.close)
        # Nothing in a read-only workspace needs a pin, which would be writable.
        planned += [mount for mount in plan.mounts if not (is_read_only and top == border.root and mount.is_pin)]
    checks = (
        *(MountCheck(path=str(top), descriptor=descriptor) for top, descriptor in tops.items()),
        *(
            MountCheck(path=mount.path, descriptor=mount.descriptor)
            for mount in planned
            if mount.shows_original and mount.descriptor is not None
        ),
    )
    note = READ_ONLY_NOW.format(str(placeholders.unblocked[0])) if placeholders.unblocked else ""
    return WorkspaceMounts(
        is_read_only=is_read_only, planned=tuple(planned), checks=checks, close=held.close, note=note
    )


def _names_to_block(names: Sequence[Path], root: Path) -> tuple[Path, ...]:
    """The names in the workspace, by their real paths; for one whose directory is missing, that directory."""
    at_top = (name for name in names if name.parent == root)
    deeper = (Path(os.path.realpath(name.parent), name.name) for name in names if name.parent != root)
    return tuple(dict.fromkeys((*at_top, *(outermost_absent(name, root) for name in deeper if root in name.parents))))


def _protected(
    border: Border, submodules: SubmodulePlaces, standing: frozenset[Path], names: Sequence[Path]
) -> dict[str, MountKind]:
    """The paths that are protected. Of two kinds, the stricter one counts."""
    # Nothing can be mounted on a link, so its target is protected. Not `Path.resolve`, which fails on a link to itself.
    read_only = (os.path.realpath(name) for name in (*names, *submodules.read_only) if name not in standing)
    return {
        **dict.fromkeys(map(str, submodules.pinned), MountKind.PIN),
        **dict.fromkeys((*read_only, *map(str, border.closed_paths)), MountKind.READ_ONLY),
        **dict.fromkeys(map(str, standing), MountKind.EMPTY),
    }


class _MountPlan:
    """The mounts beneath one directory, the outer ones first. Holds descriptors until `close`."""

    def __init__(self, top: Path, descriptor: int, kinds: Mapping[str, MountKind]) -> None:
        """Of the paths in `kinds`, those beneath `top`. What is missing, or behind a link by now, is left out."""
        self._mounts: dict[str, PlannedMount] = {}
        self._top, self._descriptor = str(top), descriptor
        try:
            for path, kind in sorted(kinds.items()):  # a directory before what is in it
                if path.startswith(f"{self._top}/"):
                    self._add(path, kind)
        except BaseException:
            self.close()
            raise

    @property
    def mounts(self) -> tuple[PlannedMount, ...]:
        """In the order in which they must be made."""
        return tuple(self._mounts.values())

    def close(self) -> None:
        """Close the descriptors. Idempotent."""
        while self._mounts:
            descriptor = self._mounts.popitem()[1].descriptor
            if descriptor is not None:
                os.close(descriptor)

    def _add(self, end: str, kind: MountKind) -> None:
        """Add a mount, and a pin for each directory on the way to it."""
        above, path = self._descriptor, self._top
        for name in end.removeprefix(f"{path}/").split("/"):
            path = f"{path}/{name}"
            planned = self._mounts.get(path)
            try:
                mount = planned or self._opened(path, kind if path == end else MountKind.PIN, above)
            except PermissionError:
                self._close_off(path.rpartition("/")[0], kind)
                return
            if mount is None or mount.descriptor is None or not _leads_on(mount, kind):
                return
            above = mount.descriptor

    def _close_off(self, directory: str, kind: MountKind) -> None:
        """Close a directory that we cannot look into: a command could change its mode and reach what is in it."""
        if directory not in self._mounts:
            raise CommandNotStarted(NOT_ACCESSIBLE)
        closed = MountKind.HIDDEN if kind is MountKind.HIDDEN else MountKind.READ_ONLY
        self._mounts[directory] = msgspec.structs.replace(self._mounts[directory], kind=closed)

    def _opened(self, path: str, kind: MountKind, above: int) -> PlannedMount | None:
        if kind is MountKind.EMPTY:
            self._mounts[path] = PlannedMount(kind=kind, path=path, descriptor=None, is_directory=True)
            return self._mounts[path]
        try:
            descriptor = os.open(path.rpartition("/")[2], LOOKING, dir_fd=above)
        except PermissionError:
            raise
        except OSError as error:
            raise_if_exhausted(error)
            return None
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISLNK(mode) or (kind is MountKind.PIN and not stat.S_ISDIR(mode)):
            os.close(descriptor)  # nothing can be mounted on a link, and a pin on a file would protect nothing
            return None
        mount = PlannedMount(kind=kind, path=path, descriptor=descriptor, is_directory=stat.S_ISDIR(mode))
        self._mounts[path] = mount
        return mount


def _leads_on(mount: PlannedMount, kind: MountKind) -> bool:
    """Whether a mount of this kind is still needed beneath that one."""
    match mount.kind:
        case MountKind.PIN:
            return True
        case MountKind.READ_ONLY:
            return kind is MountKind.HIDDEN
        case MountKind.EMPTY | MountKind.HIDDEN:
            return False
        case _:
            assert_never(mount.kind)


def held_opening(directory: Path, resources: ExitStack) -> int:
    """A descriptor of a directory outside the workspace that a command may write to. No link may lead there."""
    try:
        descriptor = _open_directory(directory)
    except OSError as error:
        raise_if_exhausted(error)
        raise CommandNotStarted(
            f"The command was not run: {str(directory)!r}, which was opened for it, is not a directory any more, or is "
            "reached through a link."
        ) from error
    resources.callback(os.close, descriptor)
    return descriptor


def _open_directory(directory: Path) -> int:
    descriptor = os.open(directory.anchor, LOOKING)
    for name in directory.parts[1:]:
        try:
            deeper = os.open(name, LOOKING | os.O_DIRECTORY, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = deeper
    return descriptor
