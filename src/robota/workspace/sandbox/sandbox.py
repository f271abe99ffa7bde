"""A sandbox that works on this machine, and how a command is put into it."""

import os
import re
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from robota.workspace.process.memory_use import EASY_VICTIM
from robota.workspace.sandbox.bubblewrap import arguments
from robota.workspace.sandbox.landlock import behind_landlock
from robota.workspace.sandbox.placeholders import Placeholders
from robota.workspace.sandbox.profile import OWN_DIRECTORY, Profile
from robota.workspace.sandbox.repositories import git_places, is_there
from robota.workspace.sandbox.seccomp import filter_program
from robota.workspace.sandbox.submodules import find_submodules
from robota.workspace.sandbox.wrapped_command import Wrapped

# No core dumps; no file beyond 16 GiB (in blocks of 512 bytes), which would fill the disk; and if memory runs out, the
# command goes before anybody else. The watchdog says the latter of every command, but too late for one in here.
LIMITS: Final = f"ulimit -c 0; ulimit -f 33554432; echo {EASY_VICTIM} > /proc/self/oom_score_adj"
# Against bombs of processes; one shell calls it -u, another -p. Older kernels count those outside as well.
LIMIT_OF_PROCESSES: Final = "ulimit -u 4096 || ulimit -p 4096"
COUNTING_KERNEL: Final = (5, 14)


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
            return behind_landlock(self.profile, command)
        raise ValueError("There is no sandbox on this machine.")

    def _in_bubblewrap(self, command: Sequence[str], cwd: Path) -> Wrapped:
        placeholders = Placeholders(self.profile.guarded, self.profile.root / OWN_DIRECTORY)
        program = filter_program()
        descriptor = _readable(program) if program is not None else None

        def clean_up() -> None:
            if descriptor is not None:
                os.close(descriptor)
            placeholders.release()

        submodules = find_submodules(self.profile.root)
        # Only those that no command of this session ever could have replaced by a link.
        pinned = (place for place in submodules.pinned if place in self.profile.pinned)
        profile = msgspec.structs.replace(self.profile, writable=(*self.profile.writable, *pinned))
        walls = arguments(self.executable, profile, _protected(self.profile, submodules.closed), cwd, descriptor)
        return Wrapped(
            argv=(*walls, *_limited(), *command),
            descriptors=() if descriptor is None else (descriptor,),
            clean_up=clean_up,
            is_sandboxed=True,
            has_keeper=True,
        )


def _protected(profile: Profile, closed: Sequence[Path]) -> list[Path]:
    """What exists of the names that must not change. A link counts as what it leads to: nothing can lie on a link."""
    nested = profile.nested
    if not all(is_there(place) for place in nested):
        nested = git_places(profile.root)  # somebody moved one, and it shall not get out of sight
    # Not `Path.resolve`, which does not take a link that leads to itself.
    places = dict.fromkeys(Path(os.path.realpath(place)) for place in (*profile.guarded, *nested, *closed))
    return [place for place in places if is_there(place) and _is_inside(place, (profile.root, *profile.writable))]


def _is_inside(place: Path, writable: Sequence[Path]) -> bool:
    """Whether it could be written, and is not itself such a place or one around it."""
    around = {parent for wide in writable for parent in (wide, *wide.parents)}
    return place not in around and any(place.is_relative_to(wide) for wide in writable)


def _limited() -> tuple[str, ...]:
    """A shell that limits itself and becomes the command."""
    kernel = tuple(int(number) for number in re.findall(r"\d+", os.uname().release)[:2])
    limits = f"{LIMITS}; {LIMIT_OF_PROCESSES}" if kernel >= COUNTING_KERNEL else LIMITS
    return ("/bin/sh", "-c", f'{{ {limits}; }} 2>/dev/null; exec "$@"', "sh")


def _readable(program: bytes) -> int:
    """A descriptor that the program can be read from, without a file."""
    descriptor = os.memfd_create("seccomp", 0)
    os.write(descriptor, program)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
