"""What a sandboxed command may touch. Pure data, made from looking once at what exists."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

# Names in a workspace that change what other programs run: never writable from inside, not even before they exist.
PROTECTED_DIRECTORIES: Final = (".git", ".robota", ".orchestration", ".claude", ".cursor", ".vscode", ".idea", ".husky")
PROTECTED_FILES: Final = (".mcp.json", ".envrc", ".gitmodules", ".robotaignore", ".roomodes")
# Where people keep what opens doors elsewhere.
SECRET_DIRECTORIES: Final = (
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
)
SECRET_FILES: Final = (".netrc", ".npmrc", ".pypirc", ".git-credentials", ".pgpass", ".my.cnf", ".vault-token")


# Full of sockets through which a service outside does what it is told: containers, systemd, the keyring, a resolver.
DOORS: Final = Path("/run")


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """The walls. `missing_*` do not exist yet and must not come into being from inside."""

    root: Path
    temporary: Path
    writable: tuple[Path, ...] = ()
    protected: tuple[Path, ...] = ()
    missing_directories: tuple[Path, ...] = ()
    missing_files: tuple[Path, ...] = ()
    hidden_directories: tuple[Path, ...] = ()
    hidden_files: tuple[Path, ...] = ()
    doors: tuple[Path, ...] = ()
    network: bool = False


def workspace_profile(
    root: Path, temporary: Path, *, home: Path | None, secrets: Iterable[Path] = (), network: bool = False
) -> Profile:
    """The profile for commands in a workspace. `temporary` becomes their /tmp; `secrets` are hidden as well."""
    directories = [root / name for name in PROTECTED_DIRECTORIES]
    files = [root / name for name in PROTECTED_FILES]
    secret_places = [*secrets]
    if home is not None:
        secret_places += [home / name for name in (*SECRET_DIRECTORIES, *SECRET_FILES)]
    hidden = [place for place in secret_places if not place.is_symlink() and not root.is_relative_to(place)]
    return Profile(
        root=root,
        temporary=temporary,
        protected=tuple(place for place in (*directories, *files) if place.exists() or place.is_symlink()),
        missing_directories=tuple(place for place in directories if not place.exists() and not place.is_symlink()),
        missing_files=tuple(place for place in files if not place.exists() and not place.is_symlink()),
        hidden_directories=tuple(place for place in hidden if place.is_dir()),
        hidden_files=tuple(place for place in hidden if place.is_file()),
        doors=(DOORS,) if DOORS.is_dir() and not DOORS.is_symlink() else (),
        network=network,
    )
