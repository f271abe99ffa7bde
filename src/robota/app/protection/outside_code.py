"""Collects the programs of a session that run outside the sandbox, and protects what they run of the workspace."""

import os
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

import robota
from robota.config.settings.load import Settings
from robota.config.trust.decision import is_trusted_by_user
from robota.policy.decide import SessionPolicy
from robota.workspace.sandbox.session_sandbox import SessionSandbox

if TYPE_CHECKING:
    from robota.workspace.outside_code.code_search import NamedProgram
    from robota.workspace.outside_code.outside_code import OutsideCode

# Each place costs a mount for every command; beyond that, the directories of the files are protected.
MAX_PLACES: Final = 64


def session_code(
    settings: Settings, root: Path, env: Mapping[str, str], *, attended: bool, saves_new: bool = True
) -> "OutsideCode":
    """What compares the files that hooks, MCP servers and the status line run."""
    from robota.workspace.outside_code.outside_code import OutsideCode

    # A workspace without configuration needs no trust to be opened, but its files are as foreign as any.
    is_trusted = settings.trust is None or is_trusted_by_user(settings.trust, env)
    code = OutsideCode(root, env, is_trusted=is_trusted, attended=attended, saves_new=saves_new)
    if settings.values.status_line is not None:
        code.add(status_program(settings.values.status_line.command, root))
    return code


def status_program(command: str, cwd: Path) -> "NamedProgram":
    """The command of the status line."""
    from robota.workspace.outside_code.code_search import NamedProgram

    return NamedProgram(label="status line command", argv=("/bin/sh", "-c", command), cwd=cwd)


def guarded(
    policy: SessionPolicy, sandbox: SessionSandbox | None, code: "OutsideCode | None", root: Path
) -> SessionPolicy:
    """The policy that asks before code that runs outside the sandbox is changed; commands cannot change it either."""
    if sandbox is not None:
        sandbox.protect(partial(protected_places, code, root))
    return msgspec.structs.replace(policy, run_outside=partial(protects, code, root))


def protected_places(code: "OutsideCode | None", root: Path) -> tuple[Path, ...]:
    """The places that commands must not change: code that runs outside the sandbox, Robota itself included."""
    from robota.workspace.files.path_status import outermost_absent

    protected = () if code is None else code.protected()
    places = dict.fromkeys(outermost_absent(place, root) for place in (*own_places(root), *protected))
    if len(places) > MAX_PLACES:
        places = dict.fromkeys(place if place.parent == root else place.parent for place in places)
    return tuple(place for place in places if place != root)


def protects(code: "OutsideCode | None", root: Path, location: str) -> str | None:
    """The protected place that an absolute path is or lies in, as seen from the workspace."""
    place = Path(location)
    for each in (*own_places(root), *(() if code is None else code.protected())):
        if place == each or place.is_relative_to(each):
            return str(each.relative_to(root)) if each.is_relative_to(root) else str(each)
    return None


def own_places(root: Path) -> tuple[Path, ...]:
    """Where Robota itself is installed, if that is in the workspace: its own processes run outside the sandbox."""
    own = (Path(sys.prefix), *(Path(place) for place in robota.__path__))
    real = Path(os.path.realpath(root))
    return tuple(place for place in own if place.is_relative_to(root) or place.is_relative_to(real))
