"""Which sandbox works here: found out by running something in it, not by looking at version numbers."""

import os
import subprocess
from typing import Final

from robota.workspace.problems import CommandNotStarted
from robota.workspace.process.programs import find_program
from robota.workspace.sandbox.profile import Profile
from robota.workspace.sandbox.sandbox import Kind, Sandbox

PROBE: Final = ("/bin/true",)
PROBE_SECONDS: Final = 5.0


def find_sandbox(profile: Profile) -> Sandbox:
    """The strongest kind in which a program can be started with exactly these walls."""
    reasons: list[str] = []
    executable = find_program("bwrap", os.environ, not_beneath=profile.root)
    if executable is None:
        reasons.append("bubblewrap is not installed")
    else:
        candidate = Sandbox(kind=Kind.BUBBLEWRAP, profile=profile, executable=executable)
        problem = _problem(candidate)
        if problem is None:
            return candidate
        reasons.append(f"bubblewrap does not work here ({problem})")
    candidate = Sandbox(kind=Kind.LANDLOCK, profile=profile, reason="; ".join(reasons))
    problem = _secret_within(profile) or _problem(candidate)
    if problem is None:
        return candidate
    reasons.append(f"Landlock does not work here ({problem})")
    return Sandbox(kind=Kind.NONE, profile=profile, reason="; ".join(reasons))


def _secret_within(profile: Profile) -> str | None:
    """Landlock opens a directory with all that is in it: in a home, also Robota's own settings could be rewritten."""
    for place in (*profile.hidden_directories, *profile.hidden_files):
        if any(place.is_relative_to(wide) for wide in (profile.root, *profile.writable)):
            return f"it cannot close {str(place)!r} inside the workspace; work in a directory that holds no secrets"
    return None


def _problem(sandbox: Sandbox) -> str | None:
    try:
        wrapped = sandbox.wrap(PROBE)
    except CommandNotStarted as error:
        return str(error)
    try:
        done = subprocess.run(
            wrapped.argv,
            pass_fds=wrapped.descriptors,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return type(error).__name__
    finally:
        wrapped.clean_up()
    if done.returncode == 0:
        return None
    return done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:][0] if done.stderr else "it failed"
