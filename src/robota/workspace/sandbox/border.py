"""The border of a session's sandbox: the one value that says what its commands may read and write."""

import os
from collections.abc import Iterable, Sequence
from enum import Enum, auto
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.files.steering_names import Guard, names_guarded_by
from robota.workspace.git.obeyed_files import find_obeyed_files
from robota.workspace.sandbox.closed_paths import find_closed_paths
from robota.workspace.sandbox.home.access import NO_HOME, HomeAccess, find_home_access
from robota.workspace.sandbox.repositories import find_submodules
from robota.workspace.sandbox.seccomp import Sockets

OWN_DIRECTORY: Final = ".robota"
# Never writable from inside, and not creatable either.
PROTECTED_NAMES: Final = names_guarded_by(Guard.KEPT_FREE)
# Hidden, because services outside obey any process that connects to their sockets: containers, systemd, the keyring.
SOCKET_DIRECTORIES: Final = (
    Path("/run"),
    Path("/var/lib/lxd"),
    Path("/var/snap/lxd/common/lxd"),
    Path("/var/lib/incus"),
)


class Network(Enum):
    """The network that a command is in."""

    OWN = auto()  # an empty one, with a loopback of its own
    SESSION = auto()  # one that the session's commands share; whoever starts the sandbox has entered it
    MACHINE = auto()


class Border(msgspec.Struct, frozen=True, kw_only=True):
    """What a command may write and read, and which network and sockets it has.

    `protected_names` are read-only, and cannot be created from inside if they do not exist. `closed_paths` are
    read-only and existed at the start; `pinned` are directories that cannot be moved or removed. `home` says what is
    visible of the home, and which credentials are hidden elsewhere. `kept_from_model` are files and directories of the
    workspace that are hidden, where the sandbox supports it. `unprotectable` says why commands cannot be given a
    writable workspace.
    """

    root: Path
    root_is_writable: bool = True
    temporary: Path
    writable: tuple[Path, ...] = ()
    protected_names: tuple[Path, ...] = ()
    closed_paths: tuple[Path, ...] = ()
    pinned: tuple[Path, ...] = ()
    home: HomeAccess = NO_HOME
    kept_from_model: tuple[Path, ...] = ()
    socket_directories: tuple[Path, ...] = ()
    network: Network = Network.OWN
    sockets: Sockets = Sockets.ORDINARY
    unprotectable: str = ""


def build_border(
    root: Path,
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
    submodules, obeyed = find_submodules(root), find_obeyed_files(root, os.environ)
    return Border(
        root=root,
        temporary=temporary,
        protected_names=(*(root / name for name in PROTECTED_NAMES), *obeyed.places, *protected),
        closed_paths=find_closed_paths(root),
        pinned=submodules.pinned,
        home=find_home_access(root, os.environ, home=home, secrets=tuple(secrets), readable=readable),
        socket_directories=tuple(place for place in SOCKET_DIRECTORIES if place.is_dir() and not place.is_symlink()),
        network=Network.MACHINE if network else Network.OWN,
        unprotectable=submodules.unprotectable or obeyed.unprotectable,
    )
