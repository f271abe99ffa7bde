"""The border of a session's sandbox: the one value that says what its commands may read and write."""

import os
from collections.abc import Iterable, Sequence
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from robota.workspace.files.confined_paths import HeldRoot
from robota.workspace.files.protected_names import Guard, names_guarded_by
from robota.workspace.git.configured_files import find_configured_files
from robota.workspace.sandbox.closed_paths import find_closed_paths
from robota.workspace.sandbox.hard_links import hard_link_problem
from robota.workspace.sandbox.home.access import NO_HOME, HomeAccess, find_home_access
from robota.workspace.sandbox.home.start_up_names import START_UP_NAMES
from robota.workspace.sandbox.placeholders import OWN_DIRECTORY
from robota.workspace.sandbox.repositories import find_submodules
from robota.workspace.sandbox.seccomp import Sockets

if TYPE_CHECKING:
    from robota.workspace.entry_files.entry import PinnedFile

# Never writable from inside, and not creatable either.
KEPT_FREE_NAMES: Final = names_guarded_by(Guard.KEPT_FREE)
# Hidden, because services outside obey any process that connects to their sockets: containers, systemd, the keyring.
SOCKET_DIRECTORIES: Final = (
    Path("/run"),
    Path("/var/lib/lxd"),
    Path("/var/snap/lxd/common/lxd"),
    Path("/var/lib/incus"),
)


class Network(Enum):
    """The network that a command is in."""

    OWN = auto()  # an empty one, with its own loopback
    SESSION = auto()  # one that the session's commands share; entered before the sandbox starts
    MACHINE = auto()


class Border(msgspec.Struct, frozen=True, kw_only=True):
    """What a command may write and read, and which network and sockets it has.

    `protected_names` are read-only, and cannot be created from inside if they do not exist. `closed_paths` are
    read-only and existed at the start. Nor can a command move or replace a directory on the way to them. `home`
    says what is visible of the home, and which credentials are hidden elsewhere. `kept_from_model` are files and
    directories of the workspace that are hidden, where the sandbox supports it. `writable` are directories outside the
    workspace. `unprotectable` says why the workspace is read-only; `notes` which parts of it are, because a limit was
    passed. `shown` are directories that are visible and read-only although they are in a hidden place, such as those of
    skills; a link shows what it leads to. `user_directory` is where Robota keeps its own state, out of reach for
    commands; None if it has none. `pinned` are files of the workspace that a command finds with this content, whatever
    is there now; they are among the `closed_paths`.
    """

    held_root: HeldRoot
    temporary: Path
    writable: tuple[Path, ...] = ()
    protected_names: tuple[Path, ...] = ()
    closed_paths: tuple[Path, ...] = ()
    home: HomeAccess = NO_HOME
    kept_from_model: tuple[Path, ...] = ()
    socket_directories: tuple[Path, ...] = ()
    network: Network = Network.OWN
    sockets: Sockets = Sockets.ORDINARY
    unprotectable: str = ""
    notes: tuple[str, ...] = ()
    shown: tuple[Path, ...] = ()
    user_directory: Path | None = None
    pinned: "tuple[PinnedFile, ...]" = ()

    @property
    def limitations(self) -> str:
        """What else commands cannot change, apart from protected files, and why; empty if there is nothing to say."""
        whole = f"commands cannot change the workspace: {self.unprotectable}" if self.unprotectable else ""
        return whole or "; ".join(self.notes)

    @property
    def root(self) -> Path:
        """The path of the workspace."""
        return self.held_root.path


def build_border(
    held_root: HeldRoot,
    temporary: Path,
    *,
    home: Path | None,
    secrets: Iterable[Path] = (),
    protected: Iterable[Path] = (),
    readable: Sequence[str] = (),
    network: bool = False,
) -> Border:
    """The border for commands in a workspace. `temporary` becomes their /tmp; `secrets` are hidden as well.

    `protected` are further paths in the workspace that commands must neither change nor create; `readable` are further
    places in the home that they may read.
    """
    root = held_root.path
    submodules, obeyed, closed = find_submodules(root), find_configured_files(root, os.environ), find_closed_paths(root)
    start_up = _start_up_files(root, home)
    names = tuple(root / name for name in KEPT_FREE_NAMES if name != OWN_DIRECTORY)
    linked = hard_link_problem((*names, *obeyed.paths, *closed.paths))
    return Border(
        held_root=held_root,
        temporary=temporary,
        protected_names=(
            *(root / name for name in KEPT_FREE_NAMES),
            *obeyed.paths,
            *protected,
            *start_up,
        ),
        closed_paths=closed.paths,
        notes=closed.notes,
        home=find_home_access(root, os.environ, home=home, secrets=tuple(secrets), readable=readable),
        socket_directories=tuple(
            directory for directory in SOCKET_DIRECTORIES if directory.is_dir() and not directory.is_symlink()
        ),
        network=Network.MACHINE if network else Network.OWN,
        unprotectable=submodules.unprotectable or obeyed.unprotectable or closed.unprotectable or linked,
    )


def searched_again(border: Border) -> Border:
    """The border for what there is to protect in the workspace now, after files were moved or removed."""
    closed = find_closed_paths(border.root)
    return msgspec.structs.replace(
        border,
        closed_paths=closed.paths,
        notes=closed.notes,
        unprotectable=border.unprotectable or closed.unprotectable,
    )


def _start_up_files(root: Path, home: Path | None) -> tuple[Path, ...]:
    """What programs run when the user logs in, if the home is in the workspace."""
    if home is None:
        return ()
    real = Path(os.path.realpath(home))
    if not real.is_relative_to(root):
        return ()
    kept_free = frozenset(root / name for name in KEPT_FREE_NAMES)
    return tuple(path for name in START_UP_NAMES if (path := real / name) not in kept_free)
