"""What a sandboxed command may touch. Pure data, made from looking once at what exists."""

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.sandbox.repositories import git_places
from robota.workspace.sandbox.submodules import find_submodules

# Names in a workspace that change what other programs run: never writable from inside, not even before they exist.
OWN_DIRECTORY: Final = ".robota"
GUARDED_NAMES: Final = (
    ".git",
    OWN_DIRECTORY,
    ".orchestration",
    ".claude",
    ".cursor",
    ".vscode",
    ".idea",
    ".husky",
    ".mcp.json",
    ".envrc",
    ".gitmodules",
    ".robotaignore",
    ".roomodes",
)
# Where people keep what opens doors elsewhere.
SECRET_PLACES: Final = (
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".config/gh",
    ".config/gcloud",
    ".password-store",
    ".local/share/keyrings",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".pgpass",
    ".my.cnf",
    ".vault-token",
)


# Full of sockets through which a service outside does what it is told: containers, systemd, the keyring, a resolver.
DOORS: Final = (Path("/run"), Path("/var/lib/lxd"), Path("/var/snap/lxd/common/lxd"), Path("/var/lib/incus"))


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """The walls. `guarded` need not exist, and must not come into being from inside.

    `nested` existed at the start, and so did `pinned`, the directories that must stay where they are.
    """

    root: Path
    temporary: Path
    writable: tuple[Path, ...] = ()
    guarded: tuple[Path, ...] = ()
    nested: tuple[Path, ...] = ()
    pinned: tuple[Path, ...] = ()
    hidden_directories: tuple[Path, ...] = ()
    hidden_files: tuple[Path, ...] = ()
    doors: tuple[Path, ...] = ()
    network: bool = False


def workspace_profile(
    root: Path, temporary: Path, *, home: Path | None, secrets: Iterable[Path] = (), network: bool = False
) -> Profile:
    """The profile for commands in a workspace. `temporary` becomes their /tmp; `secrets` are hidden as well."""
    secret_places = [*secrets]
    if home is not None:
        secret_places += [home / name for name in SECRET_PLACES]
    real_places = (Path(os.path.realpath(place)) for place in secret_places)
    hidden = [place for place in real_places if not root.is_relative_to(place)]
    return Profile(
        root=root,
        temporary=temporary,
        guarded=tuple(root / name for name in GUARDED_NAMES),
        nested=git_places(root),
        pinned=find_submodules(root).pinned,
        hidden_directories=tuple(place for place in hidden if stat.S_ISDIR(_mode(place))),
        hidden_files=tuple(place for place in hidden if stat.S_ISREG(_mode(place))),
        doors=tuple(door for door in DOORS if stat.S_ISDIR(_mode(door))),
        network=network,
    )


def _mode(place: Path) -> int:
    """What it is, links not followed; 0 for what we cannot look at, because then a command cannot either."""
    try:
        return place.stat(follow_symlinks=False).st_mode
    except OSError:
        return 0
