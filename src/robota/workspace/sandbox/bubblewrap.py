"""The walls as arguments for bubblewrap. Pure."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from robota.workspace.sandbox.profile import Profile

# Written through by real root even without capabilities, because these files look at the uid and at nothing else.
KERNEL_DOORS: Final = ("/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi")
# Plain files behind the doors that programs need to find names in the network, or themselves.
BEHIND_DOORS: Final = (
    "/run/systemd/resolve/stub-resolv.conf",
    "/run/systemd/resolve/resolv.conf",
    "/run/NetworkManager/resolv.conf",
    "/run/resolvconf/resolv.conf",
    "/run/current-system",
)
# Where temporary files go outside. Inside that is always /tmp, and other places cannot be written.
NAMES_OF_TEMPORARY: Final = ("TMPDIR", "TMP", "TEMP")
NAMESPACES: Final = ("user", "pid", "ipc", "uts")


def arguments(
    executable: str, profile: Profile, protected: Sequence[Path], cwd: Path, seccomp_descriptor: int | None = None
) -> list[str]:
    """The command line up to and including `--`. Later mounts lie on top of earlier ones. `protected` must exist."""
    words = [executable, "--new-session", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev"]
    for place in profile.doors:
        words += ["--tmpfs", str(place)]
    if profile.doors:
        words += [word for path in BEHIND_DOORS for word in ("--ro-bind-try", path, path)]
    words += ["--bind", str(profile.temporary), "/tmp"]
    for place in (profile.root, *profile.writable):
        words += ["--bind", str(place), str(place)]
    for place in protected:
        words += ["--ro-bind", str(place), str(place)]
    words += _masks(profile)
    words += [f"--unshare-{name}" for name in NAMESPACES]
    words.append("--unshare-cgroup-try")
    if not profile.network:
        words.append("--unshare-net")
    words += ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"]
    for door in KERNEL_DOORS:
        words += ["--ro-bind-try", door, door]
    words += ["--cap-drop", "ALL", *(word for name in NAMES_OF_TEMPORARY for word in ("--unsetenv", name))]
    if seccomp_descriptor is not None:
        words += ["--seccomp", str(seccomp_descriptor)]
    return [*words, "--chdir", str(cwd), "--"]


def _masks(profile: Profile) -> list[str]:
    """Empty and read-only in place of what must not be read."""
    words: list[str] = []
    for place in profile.hidden_directories:
        words += ["--tmpfs", str(place), "--remount-ro", str(place)]
    for place in profile.hidden_files:
        words += ["--ro-bind", "/dev/null", str(place)]
    return words
