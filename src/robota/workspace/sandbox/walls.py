"""A sandbox that works on this machine, and how a command is put into it."""

import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.sandbox.bubblewrap import arguments
from robota.workspace.sandbox.profile import Profile
from robota.workspace.sandbox.seccomp import filter_program
from robota.workspace.sandbox.wrapped import Wrapped

LAUNCHER: Final = Path(__file__).with_name("landlock_launcher.py")
# Written to by half of all programs; none of it outlives the command.
HARMLESS_DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/shm", "/dev/pts")


# No core dumps, and no file beyond 16 GiB (in blocks of 512 bytes): a command gone wild shall not fill the disk.
LIMITED: Final = ("/bin/sh", "-c", '{ ulimit -c 0; ulimit -f 33554432; } 2>/dev/null; exec "$@"', "sh")


class Kind(StrEnum):
    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    NONE = "none"


class Sandbox(msgspec.Struct, frozen=True, kw_only=True):
    """The best kind that was seen to work. `reason` says why it is not a better one."""

    kind: Kind
    profile: Profile
    executable: str = ""
    reason: str = ""

    def wrap(self, command: Sequence[str], cwd: Path | None = None) -> Wrapped:
        """The command inside the walls. Must not be called when there are none."""
        if self.kind is Kind.BUBBLEWRAP:
            return self._in_bubblewrap(command, cwd or self.profile.root)
        if self.kind is Kind.LANDLOCK:
            return self._behind_landlock(command)
        raise ValueError("There is no sandbox on this machine.")

    def _in_bubblewrap(self, command: Sequence[str], cwd: Path) -> Wrapped:
        program = filter_program()
        descriptor = _readable(program) if program is not None else None
        placeholders = [p for p in (*self.profile.missing_directories, *self.profile.missing_files) if not p.exists()]

        def clean_up() -> None:
            if descriptor is not None:
                os.close(descriptor)
            for place in placeholders:
                _remove_placeholder(place)

        return Wrapped(
            argv=(*arguments(self.executable, self.profile, cwd, descriptor), *LIMITED, *command),
            descriptors=() if descriptor is None else (descriptor,),
            clean_up=clean_up,
            has_walls=True,
        )

    def _behind_landlock(self, command: Sequence[str]) -> Wrapped:
        """Weaker: it cannot hide what can be read, nor protect single names inside the workspace."""
        places = [self.profile.root, self.profile.temporary, *self.profile.writable, *map(Path, HARMLESS_DEVICES)]
        specification = {
            "writable": [str(place) for place in places if place.exists()],
            "filter": (filter_program() or b"").hex(),
            "network": self.profile.network,
        }
        launcher = (sys.executable, "-I", "-S", str(LAUNCHER), json.dumps(specification))
        return Wrapped(argv=(*launcher, *LIMITED, *command), has_walls=True)


def _readable(program: bytes) -> int:
    """A descriptor that the program can be read from, without a file."""
    descriptor = os.memfd_create("seccomp", 0)
    os.write(descriptor, program)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _remove_placeholder(place: Path) -> None:
    """Remove what bubblewrap made as a mount point, and nothing that anybody has put there since."""
    with suppress(OSError):
        if place.is_dir() and not place.is_symlink():
            place.rmdir()
        elif place.is_file() and place.stat().st_size == 0:
            place.unlink()
