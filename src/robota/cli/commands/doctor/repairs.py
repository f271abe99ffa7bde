"""What `robota doctor --fix` mends: only what loses nothing and needs no decision."""

import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from robota.cli.commands.doctor.checks import Check, Health
from robota.config.durable_file import PRIVATE
from robota.config.errors import ConfigError
from robota.config.paths import settings_path, user_directory
from robota.config.settings.writer import read_raw, set_value

PRIVATE_DIRECTORY: Final = 0o700
OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
IGNORE_ALL: Final = "*\n"


def mend(root: Path, env: Mapping[str, str]) -> Sequence[Check]:
    """Mend what is wrong, and say what was done. What cannot be mended is left to the checks that follow."""
    try:
        return [*_close(root, env), *_hide_from_git(root), *_choose_provider(env)]
    except (ConfigError, OSError) as error:
        return [Check(name="fix", health=Health.NOTE, text=f"not everything could be mended: {error}")]


def _close(root: Path, env: Mapping[str, str]) -> Iterator[Check]:
    """Keys and conversations are the person's own: nobody else on the machine may read them."""
    user = user_directory(env)
    places = [(user, PRIVATE_DIRECTORY), (settings_path(env), PRIVATE)]
    logs = (root / ".robota" / "sessions").glob("*/log.jsonl")
    for path, mode in (*places, *((log, PRIVATE) for log in logs)):
        if path.is_symlink() or not path.exists() or not path.stat().st_mode & OTHERS:
            continue
        path.chmod(mode)
        yield _done(f"{path} could be read by others; now only by you")


def _hide_from_git(root: Path) -> Iterator[Check]:
    directory = root / ".robota"
    ignore = directory / ".gitignore"
    if (directory / "sessions").is_dir() and not directory.is_symlink() and not ignore.exists():
        ignore.write_text(IGNORE_ALL, encoding="utf-8")
        yield _done(f"{ignore} was missing; sessions are hidden from git again")


def _choose_provider(env: Mapping[str, str]) -> Iterator[Check]:
    """A current provider that is not there, where only one can be meant."""
    path = settings_path(env)
    raw = read_raw(path)
    providers = raw.get("providers")
    names = list(providers) if isinstance(providers, dict) else []
    current = raw.get("currentProvider")
    if len(names) == 1 and current is not None and current != names[0]:
        set_value(path, ["currentProvider"], names[0])
        yield _done(f"currentProvider named {current!r}, which is not there; now it names {names[0]!r}")


def _done(text: str) -> Check:
    return Check(name="fixed", health=Health.GOOD, text=text)
