"""What the sandbox can be opened for, one command at a time: a host, or a directory outside the workspace."""

from pathlib import Path
from typing import Final

from robota.config.settings.allowed_hosts import AllowedName, NoHost, allowed_host

# What the machine itself rests on; a command that has to write there needs more than an opening.
OF_THE_SYSTEM: Final = frozenset(
    {"bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "proc", "run", "sbin", "sys", "usr"}
)
MIN_DEPTH: Final = 3  # with the root: /var/tmp, /home/somebody


def problem_with_opening(entry: str, root: Path, home: Path | None) -> str | None:
    """Why the sandbox is not opened for this, in words that follow a colon; None if a person can be asked."""
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
