"""The repairs of `robota doctor --fix`: only those that lose nothing and need no decision."""

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from robota.commands.doctor.checks import Check, Health
from robota.config.durable_file import PRIVATE
from robota.config.errors import ConfigError
from robota.config.paths import settings_path, user_directory
from robota.config.settings.writer import read_raw, set_value

PRIVATE_DIRECTORY: Final = 0o700
OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
IGNORE_ALL: Final = "*\n"
HOW: Final = "To repair it: robota doctor --fix"


class Repair(msgspec.Struct, frozen=True, kw_only=True):
    """A problem, the state after the repair, and the repair itself."""

    found: str
    then: str
    make: Callable[[], object]


def mend(root: Path, env: Mapping[str, str], *, really: bool) -> Sequence[Check]:
    """Repair problems and describe what was done, or only describe what could be repaired."""
    checks: list[Check] = []
    try:
        for repair in _repairs(root, env):
            if really:
                repair.make()
                checks.append(Check(name="fixed", health=Health.GOOD, text=f"{repair.found}; {repair.then}"))
            else:
                checks.append(Check(name="fix", health=Health.NOTE, text=repair.found, advice=HOW))
    except (ConfigError, OSError) as error:
        checks.append(Check(name="fix", health=Health.NOTE, text=f"not everything could be repaired: {error}"))
    return checks


def _repairs(root: Path, env: Mapping[str, str]) -> Iterator[Repair]:
    yield from _close(root, env)
    yield from _hide_from_git(root)
    yield from _choose_provider(env)


def _close(root: Path, env: Mapping[str, str]) -> Iterator[Repair]:
    """Make files with keys and conversations private: other users of the machine must not read them."""
    user = user_directory(env)
    places = [(user, PRIVATE_DIRECTORY), (settings_path(env), PRIVATE)]
    for path, mode in (*places, *((log, PRIVATE) for log in _logs(root))):
        if path.is_symlink() or not path.exists() or not path.stat().st_mode & OTHERS:
            continue
        closing = partial(path.chmod, mode)
        yield Repair(found=f"{path} was readable by others", then="now readable only by you", make=closing)


def _logs(root: Path) -> Iterator[Path]:
    """The logs in the workspace itself, without links: a repository may contain links to the user's files."""
    sessions = root / ".robota" / "sessions"
    if not (sessions.parent.is_symlink() or sessions.is_symlink()):
        yield from (log for log in sessions.glob("*/log.jsonl") if not log.parent.is_symlink())


def _hide_from_git(root: Path) -> Iterator[Repair]:
    directory = root / ".robota"
    ignore = directory / ".gitignore"
    # A dangling link is not a missing file: writing would create its target.
    if (directory / "sessions").is_dir() and not directory.is_symlink() and not os.path.lexists(ignore):
        hiding = partial(_write_new, ignore, IGNORE_ALL)
        yield Repair(found=f"{ignore} is missing", then="sessions are hidden from git again", make=hiding)


def _write_new(path: Path, text: str) -> None:
    with path.open("x", encoding="utf-8") as file:
        file.write(text)


def _choose_provider(env: Mapping[str, str]) -> Iterator[Repair]:
    """A current provider that does not exist, if there is only one it can be replaced by."""
    path = settings_path(env)
    raw = read_raw(path)
    providers = raw.get("providers")
    names = list(providers) if isinstance(providers, dict) else []
    current = raw.get("currentProvider")
    if len(names) == 1 and current is not None and current != names[0]:
        choosing = partial(set_value, path, ["currentProvider"], names[0])
        problem = f"currentProvider names {current!r}, which does not exist"
        yield Repair(found=problem, then=f"now set to {names[0]!r}", make=choosing)
