"""Check what the sandbox can be opened for, for one command: a host, or a directory outside the workspace."""

from pathlib import Path
from typing import Final

from robota.config.settings.allowed_hosts import AllowedName, NoHost, allowed_host

# Directories of the operating system; a command that has to write there must run without the sandbox.
OF_THE_SYSTEM: Final = frozenset(
    {"bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "proc", "run", "sbin", "sys", "usr"}
)
MIN_DEPTH: Final = 3  # parts including the root: /var/tmp, /home/user


def problem_with_opening(entry: str, root: Path, home: Path | None) -> str | None:
    """Why the sandbox cannot be opened for this, as text to follow a colon; None if the user can be asked."""
    if not entry.startswith("/"):
        try:
            found = allowed_host(entry)
        except NoHost as error:
            return str(error)
        return None if isinstance(found, AllowedName) else "a single host name is required"
    place = Path(entry)
    if ".." in place.parts or place.resolve() != place or not place.is_dir():
        return "it is not a directory, or is reached through a link"
    if len(place.parts) < MIN_DEPTH or place.parts[1] in OF_THE_SYSTEM:
        return "it belongs to the system"
    if root.is_relative_to(place) or place.is_relative_to(root) or (home is not None and home.is_relative_to(place)):
        return "it is the workspace, the home directory, or a parent of them"
    return None
