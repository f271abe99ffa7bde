"""The single checks of `robota doctor`. They look; they change nothing."""

import asyncio
import os
import platform
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from robota.cli.configure_interactive import probe
from robota.config.errors import ConfigError, NoProviderError
from robota.config.paths import user_directory
from robota.config.problems import Severity, shown
from robota.config.profile_choice import select_profile
from robota.config.settings import Settings, load_settings
from robota.config.trust import TrustState
from robota.providers.fault import ProviderFault
from robota.version import VERSION
from robota.workspace.filter_process import run_filter
from robota.workspace.problems import FileProblem
from robota.workspace.ripgrep import ripgrep_program

OLDEST_PYTHON: Final = (3, 11)
PROGRAM_SECONDS: Final = 5.0
PROBE_SECONDS: Final = 10.0
LEAST_FREE_BYTES: Final = 200 * 1024 * 1024
SANDBOX_TRIAL: Final = "--ro-bind / / --dev /dev --proc /proc --unshare-all --die-with-parent true"


class Health(StrEnum):
    GOOD = "good"
    NOTE = "note"
    BAD = "bad"


class Check(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that was looked at."""

    name: str
    health: Health
    text: str
    advice: str = ""


async def examine(root: Path, env: Mapping[str, str]) -> Sequence[Check]:
    """All checks, in the order they are shown; the slow ones run side by side."""
    settings = load_settings(root, env)
    git, ripgrep, sandbox, provider = await asyncio.gather(
        _git(env), _ripgrep(env), _sandbox(env), _provider(settings, env)
    )
    return [
        Check(name="robota", health=Health.GOOD, text=VERSION),
        _python(),
        _terminal(env),
        git,
        ripgrep,
        sandbox,
        *_settings(settings),
        _trust(settings),
        provider,
        _disk(root, env),
    ]


def _python() -> Check:
    text = f"{platform.python_version()} ({sys.executable})"
    if sys.version_info >= OLDEST_PYTHON:
        return Check(name="python", health=Health.GOOD, text=text)
    return Check(name="python", health=Health.BAD, text=text, advice="Robota needs Python 3.11 or newer.")


def _terminal(env: Mapping[str, str]) -> Check:
    name = env.get("TERM") or "unset"
    encoding = (sys.stdout.encoding or "").lower()
    if not sys.stdout.isatty():
        return Check(name="terminal", health=Health.NOTE, text=f"output goes to no terminal (TERM is {shown(name)})")
    if encoding not in ("utf-8", "utf8"):
        advice = "Set LANG to a UTF-8 locale, for example C.UTF-8."
        return Check(name="terminal", health=Health.NOTE, text=f"{shown(name)}, encoding {encoding}", advice=advice)
    size = os.get_terminal_size(sys.stdout.fileno())
    return Check(name="terminal", health=Health.GOOD, text=f"{shown(name)}, {size.columns}x{size.lines}, UTF-8")


async def _git(env: Mapping[str, str]) -> Check:
    program = _program("git", env)
    if program is None:
        return Check(name="git", health=Health.BAD, text="not found", advice="Install git.")
    return await _version_of("git", program, env)


async def _ripgrep(env: Mapping[str, str]) -> Check:
    try:
        program = ripgrep_program()
    except FileProblem:
        advice = "Install ripgrep; without it the model cannot search files."
        return Check(name="ripgrep", health=Health.BAD, text="not found", advice=advice)
    return await _version_of("ripgrep", program, env)


async def _version_of(name: str, program: str, env: Mapping[str, str]) -> Check:
    done = await run_filter(f"{shlex.quote(program)} --version", b"", Path("/"), env, PROGRAM_SECONDS)
    if done.exit_code != 0:
        advice = f"Try it yourself: {shlex.quote(program)} --version"
        return Check(name=name, health=Health.BAD, text=f"{program} does not work", advice=advice)
    return Check(name=name, health=Health.GOOD, text=f"{shown(done.stdout.partition(chr(10))[0])} ({program})")


async def _sandbox(env: Mapping[str, str]) -> Check:
    program = _program("bwrap", env)
    if program is None:
        advice = "Install bubblewrap, and commands can be confined by the operating system."
        return Check(name="sandbox", health=Health.NOTE, text="bubblewrap was not found", advice=advice)
    trial = f"{shlex.quote(program)} {SANDBOX_TRIAL}"
    done = await run_filter(trial, b"", Path("/"), env, PROGRAM_SECONDS)
    if done.exit_code == 0:
        return Check(name="sandbox", health=Health.GOOD, text=f"bubblewrap works ({program})")
    reason = shown(done.stderr.strip().partition("\n")[0], 200) or "it did not run"
    advice = "User namespaces may be switched off on this system."
    return Check(name="sandbox", health=Health.NOTE, text=f"bubblewrap does not work: {reason}", advice=advice)


def _settings(settings: Settings) -> list[Check]:
    problems = [
        Check(
            name="settings",
            health=Health.BAD if problem.severity is Severity.ERROR else Health.NOTE,
            text=problem.message,
        )
        for problem in settings.problems
    ]
    ignored = [Check(name="settings", health=Health.NOTE, text=line) for line in settings.ignored]
    files = sorted({entry.origin.where for entry in settings.entries if entry.origin.where != "built in"})
    text = f"read from {', '.join(shown(file, 200) for file in files)}" if files else "nothing is set"
    return [Check(name="settings", health=Health.GOOD, text=text), *problems, *ignored]


def _trust(settings: Settings) -> Check:
    trust = settings.trust
    if trust is None:
        return Check(name="trust", health=Health.NOTE, text="no project: nothing is loaded from here")
    health = Health.GOOD if trust.is_given else Health.NOTE
    advice = "Look at it and decide: robota trust" if not trust.is_given else ""
    if trust.state is TrustState.REFUSED:
        advice = "To decide again: robota trust"
    return Check(name="trust", health=health, text=f"this workspace: {trust.state}", advice=advice)


async def _provider(settings: Settings, env: Mapping[str, str]) -> Check:
    name = "provider"
    try:
        profile = select_profile(settings)
        said = await probe(profile, env, PROBE_SECONDS)
    except NoProviderError:
        return Check(name=name, health=Health.BAD, text="none is configured", advice="Set one up: robota --configure")
    except (ConfigError, ProviderFault) as error:
        advice = "Correct the profile: robota --configure"
        return Check(name=name, health=Health.BAD, text=shown(str(error), 500), advice=advice)
    model = f", model {profile.model}" if profile.model else ""
    return Check(name=name, health=Health.GOOD, text=f"{profile.name} (type {profile.type}{model}): {shown(said, 300)}")


def _disk(root: Path, env: Mapping[str, str]) -> Check:
    places = [root, user_directory(env)]
    free = {place: shutil.disk_usage(_existing(place)).free for place in places}
    least = min(free, key=lambda place: free[place])
    text = f"{free[least] >> 20:,} MiB free for {least}"
    if free[least] >= LEAST_FREE_BYTES:
        return Check(name="disk", health=Health.GOOD, text=text)
    advice = "Make room: a session's log cannot be written to a full disk."
    return Check(name="disk", health=Health.BAD, text=text, advice=advice)


def _existing(place: Path) -> Path:
    return next(path for path in (place, *place.parents) if path.exists())


def _program(name: str, env: Mapping[str, str]) -> str | None:
    """A program by its full path; what stands in the working directory does not count."""
    absolute = [folder for folder in env.get("PATH", os.defpath).split(os.pathsep) if folder.startswith("/")]
    return shutil.which(name, path=os.pathsep.join(absolute))
