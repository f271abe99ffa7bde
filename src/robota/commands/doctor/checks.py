"""The checks of `robota doctor`. They change nothing."""

import asyncio
import os
import platform
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import Final, assert_never

import msgspec

from robota.app.agents import agent_definitions
from robota.app.knowledge.skills import skill_finder
from robota.commands.provider_trial import probe
from robota.config.errors import ConfigError, NoProviderError
from robota.config.paths import home_directory, known_home, user_directory
from robota.config.settings.load import Settings, load_settings
from robota.config.settings.problems import Severity
from robota.config.trust.decision import TrustState
from robota.config.trust.own_files import own_changes, own_parts
from robota.providers.environment_profile import current_profile
from robota.providers.fault import ProviderFault
from robota.providers.model_list import with_window
from robota.providers.registry import definition, with_defaults
from robota.text.counted import counted
from robota.text.visible import single_line
from robota.version import VERSION
from robota.workspace.files.confined_paths import HeldRoot
from robota.workspace.outside_program import ProgramStart, find_program
from robota.workspace.problems import CommandNotStarted, FileProblem
from robota.workspace.process.filter_process import run_filter
from robota.workspace.sandbox.backend import SandboxBackend, SandboxKind, detect_backend
from robota.workspace.sandbox.border import build_border
from robota.workspace.sandbox.bubblewrap import interpreter_inside
from robota.workspace.sandbox.home.access import find_home_access
from robota.workspace.sandbox.machine_network.socket_guard import (
    LandlockScope,
    NoNetwork,
    NoUnixSockets,
    socket_guard,
)
from robota.workspace.sandbox.seccomp import filter_program
from robota.workspace.search.ripgrep import own_programs, ripgrep_program

SOCKETS_OPEN: Final = (
    "Commands can connect to Unix sockets of other programs, such as tmux and D-Bus, because Robota cannot filter the "
    "system calls of this processor."
)
OLDEST_PYTHON: Final = (3, 11)
PROGRAM_SECONDS: Final = 5.0
PROBE_SECONDS: Final = 10.0
NEAR_MODELS: Final = 3
MAX_SKILLS_SHOWN: Final = 5
ROO_IGNORE: Final = ".rooignore"
MAX_PROBLEM_LENGTH: Final = 500
MAX_HOME_LENGTH: Final = 8_000
MIN_FREE_BYTES: Final = 200 * 1024 * 1024


class Health(StrEnum):
    """The result of a check."""

    GOOD = "good"
    NOTE = "note"
    BAD = "bad"


class Check(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One check with its result."""

    name: str
    health: Health
    text: str
    advice: str = ""


async def examine(root: Path, env: Mapping[str, str]) -> Sequence[Check]:
    """Run all checks, returned in display order; the slow ones run concurrently."""
    settings = load_settings(root, env)
    git, ripgrep, sandbox, provider = await asyncio.gather(
        _git(env), _ripgrep(env), _sandbox(settings, root, env), _provider(settings, env)
    )
    return [
        Check(name="robota", health=Health.GOOD, text=VERSION),
        _python(),
        _terminal(env),
        git,
        ripgrep,
        sandbox,
        *_home(settings, root, env),
        *_settings(settings),
        _trust(settings),
        *_skills(settings, root, env),
        *_own_files(env),
        *_agents(settings, root, env),
        *_left_out(settings, root),
        provider,
        _disk(root, env),
    ]


def _skills(settings: Settings, root: Path, env: Mapping[str, str]) -> list[Check]:
    """The files of skills and commands that have no effect; empty if all do."""
    finder = skill_finder(settings, (), root, env)
    wrong = [] if finder is None else [skill for skill in finder.library().all if skill.problems]
    checks = [
        Check(
            name="skills",
            health=Health.NOTE,
            text=f"{single_line(skill.path, 4096)}: {single_line('; '.join(skill.problems), MAX_PROBLEM_LENGTH)}",
        )
        for skill in wrong[:MAX_SKILLS_SHOWN]
    ]
    if len(wrong) > MAX_SKILLS_SHOWN:
        more = f"{len(wrong) - MAX_SKILLS_SHOWN:,} more have fields without effect"
        checks.append(Check(name="skills", health=Health.NOTE, text=more, advice="robota skills validate"))
    return checks


def _agents(settings: Settings, root: Path, env: Mapping[str, str]) -> list[Check]:
    """The files of agents with fields that have no effect; empty if all have."""
    wrong = [agent for agent in agent_definitions(settings, (), root, env) if agent.ignored]
    return [
        Check(
            name="agents",
            health=Health.NOTE,
            text=f"{single_line(agent.source, 4096)}: {single_line('; '.join(agent.ignored), MAX_PROBLEM_LENGTH)}",
            advice="robota agents validate",
        )
        for agent in wrong[:MAX_SKILLS_SHOWN]
    ]


def _left_out(settings: Settings, root: Path) -> list[Check]:
    """Links in the configuration that are not followed, and ignore files of other agents that are not read."""
    sources = settings.trust.snapshot.sources if settings.trust is not None else ()
    links = [source.path for source in sources if source.is_link]
    checks = []
    if links:
        text = f"{counted(len(links), 'link')} not followed, such as {single_line(links[0], 200)}"
        advice = "Links of skills, commands, agents and output styles are followed, but only within the workspace."
        checks.append(Check(name="links", health=Health.NOTE, text=text, advice=advice))
    if (root / ROO_IGNORE).is_file():
        advice = "To hide the same files from the model, put its lines into .robotaignore."
        checks.append(Check(name="ignore files", health=Health.NOTE, text=f"{ROO_IGNORE} is not read", advice=advice))
    return checks


def _own_files(env: Mapping[str, str]) -> list[Check]:
    """Whether the user's own skills and hooks changed since they reviewed them; empty if they never did."""
    try:
        changed = own_changes(own_parts(load_settings(None, env).values.hooks or {}, env), env)
    except ConfigError:
        return []  # an unreadable lock file is reported with the trust in the workspace
    if not changed:
        return []
    names = ", ".join(single_line(each.name, 200) for each in changed[:MAX_SKILLS_SHOWN])
    more = f" and {len(changed) - MAX_SKILLS_SHOWN:,} more" if len(changed) > MAX_SKILLS_SHOWN else ""
    text = f"changed since you last reviewed them: {names}{more}"
    return [Check(name="your own files", health=Health.NOTE, text=text, advice="To review: robota trust --own")]


def _python() -> Check:
    text = f"{platform.python_version()} ({sys.executable})"
    if sys.version_info >= OLDEST_PYTHON:
        return Check(name="python", health=Health.GOOD, text=text)
    return Check(name="python", health=Health.BAD, text=text, advice="Robota needs Python 3.11 or newer.")


def _terminal(env: Mapping[str, str]) -> Check:
    name = env.get("TERM") or "unset"
    encoding = (sys.stdout.encoding or "").lower()
    if not sys.stdout.isatty():
        return Check(
            name="terminal", health=Health.NOTE, text=f"output is not a terminal (TERM is {single_line(name)})"
        )
    if encoding not in ("utf-8", "utf8"):
        advice = "Set LANG to a UTF-8 locale, for example C.UTF-8."
        return Check(
            name="terminal", health=Health.NOTE, text=f"{single_line(name)}, encoding {encoding}", advice=advice
        )
    size = os.get_terminal_size(sys.stdout.fileno())
    return Check(name="terminal", health=Health.GOOD, text=f"{single_line(name)}, {size.columns}x{size.lines}, UTF-8")


async def _git(env: Mapping[str, str]) -> Check:
    program = find_program("git", env, not_beneath=Path.cwd())
    if program is None:
        return Check(name="git", health=Health.BAD, text="not found", advice="Install git.")
    return await _version_of("git", program, env)


async def _ripgrep(env: Mapping[str, str]) -> Check:
    try:
        program = ripgrep_program(Path.cwd())
    except FileProblem:
        advice = "Install ripgrep; without it the model cannot search files."
        return Check(name="ripgrep", health=Health.BAD, text="not found", advice=advice)
    return await _version_of("ripgrep", program, env)


async def _version_of(name: str, program: str, env: Mapping[str, str]) -> Check:
    asked = ProgramStart(
        argv=(program, "--version"),
        workspace=Path.cwd(),
        cwd=Path("/"),
        env=env,
        verified=own_programs(),
    )
    done = await run_filter(asked, b"", PROGRAM_SECONDS)
    if done.exit_code != 0:
        advice = f"Try it yourself: {shlex.quote(program)} --version"
        return Check(name=name, health=Health.BAD, text=f"{program} does not work", advice=advice)
    return Check(name=name, health=Health.GOOD, text=f"{single_line(done.stdout.partition(chr(10))[0])} ({program})")


async def _sandbox(settings: Settings, root: Path, env: Mapping[str, str]) -> Check:
    """The sandbox that a command in this workspace would get, probed."""
    name = "sandbox"
    if not settings.values.sandbox.enabled:
        advice = "Commands run with your full permissions. To enable it again: robota config unset sandbox.enabled"
        return Check(name=name, health=Health.NOTE, text="disabled in the settings", advice=advice)
    try:
        sandbox = await asyncio.to_thread(_found_sandbox, root, env)
    except CommandNotStarted as problem:
        return Check(name=name, health=Health.NOTE, text=str(problem))
    reason = single_line(sandbox.reason, 300)
    unreachable = _why_no_host_is_reached(sandbox, settings) or _which_sockets_are_open(sandbox, settings)
    if sandbox.kind is SandboxKind.BUBBLEWRAP:
        unreachable = f"{reason[:1].upper()}{reason[1:]}. {unreachable}".strip() if reason else unreachable
        health = Health.NOTE if unreachable else Health.GOOD
        return Check(name=name, health=health, text=f"bubblewrap ({sandbox.executable})", advice=unreachable)
    if sandbox.kind is SandboxKind.LANDLOCK:
        advice = (
            "It restricts writing and the network and blocks access to your secrets, but it does not protect single "
            "names in the workspace, such as .git, nor hide processes. bubblewrap does, where user namespaces are "
            "allowed."
        )
        advice = f"{advice} {unreachable}".rstrip()
        return Check(name=name, health=Health.NOTE, text=f"Landlock, because {reason}", advice=advice)
    advice = "Every command needs approval. Install bubblewrap; user namespaces may have to be enabled."
    return Check(name=name, health=Health.NOTE, text=f"none, because {reason}", advice=advice)


def _home(settings: Settings, root: Path, env: Mapping[str, str]) -> list[Check]:
    """What commands see of the home, by reason, and what of the settings they do not see."""
    if not settings.values.sandbox.enabled:
        return []
    secrets = (user_directory(env),)
    access = find_home_access(
        root, env, home=known_home(env), secrets=secrets, readable=settings.values.sandbox.readable
    )
    by_source: dict[str, list[str]] = {}
    shown = [(each.source, each.path) for each in access.visible] + [(each.source, each.path) for each in access.copies]
    for source, place in shown:
        by_source.setdefault(source, []).append(str(place))
    lines = [f"{', '.join(places)} ({source})" for source, places in sorted(by_source.items())]
    advice = "Further places: sandbox.readable in your user settings."
    text = f"hidden from commands except {'; '.join(lines)}" if lines else "hidden from commands"
    problems = [f"sandbox.readable: {each.named} is refused: {each.reason}" for each in access.refused]
    refused = [Check(name="home", health=Health.NOTE, text=single_line(each, 500)) for each in problems]
    return [Check(name="home", health=Health.GOOD, text=single_line(text, MAX_HOME_LENGTH), advice=advice), *refused]


def _why_no_host_is_reached(found: SandboxBackend, settings: Settings) -> str:
    """A warning if the allowed hosts of the settings cannot be reached; empty if they can be, or if there are none."""
    if not settings.values.sandbox.allowed_hosts:
        return ""
    if found.kind is SandboxKind.LANDLOCK:
        return "It cannot enforce sandbox.allowedHosts, so commands have no network at all."
    if found.kind is SandboxKind.BUBBLEWRAP and interpreter_inside(found.border) is None:
        return (
            "Python, which sandbox.allowedHosts needs, is not visible in the sandbox, so commands have no network at "
            "all."
        )
    return ""


def _which_sockets_are_open(found: SandboxBackend, settings: Settings) -> str:
    """A warning if commands have fewer sockets here, or reach more of them, than elsewhere; otherwise empty."""
    if found.kind is SandboxKind.LANDLOCK:
        return SOCKETS_OPEN if filter_program() is None else ""
    sandbox = settings.values.sandbox
    if found.kind is not SandboxKind.BUBBLEWRAP or not sandbox.network or sandbox.allowed_hosts:
        return ""
    guard = socket_guard(found.border)
    match guard:
        case LandlockScope():
            return ""
        case NoUnixSockets():
            return (
                "With sandbox.network, commands cannot use Unix sockets: closing only those outside needs Linux 6.12."
            )
        case NoNetwork():
            return "sandbox.network has no effect: closing the Unix sockets outside needs Linux 6.12."
        case _:
            assert_never(guard)


def _found_sandbox(root: Path, env: Mapping[str, str]) -> SandboxBackend:
    with tempfile.TemporaryDirectory(prefix="robota-doctor-") as temporary, closing(HeldRoot(root)) as held:
        secrets = (user_directory(env),)
        return detect_backend(build_border(held, Path(temporary), home=home_directory(env), secrets=secrets))


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
    text = f"read from {', '.join(single_line(file, 200) for file in files)}" if files else "nothing is set"
    return [Check(name="settings", health=Health.GOOD, text=text), *problems, *ignored]


def _trust(settings: Settings) -> Check:
    trust = settings.trust
    if trust is None:
        return Check(name="trust", health=Health.NOTE, text="no project: nothing is loaded from here")
    health = Health.GOOD if trust.is_given else Health.NOTE
    advice = "To review it and decide: robota trust" if not trust.is_given else ""
    if trust.state is TrustState.REFUSED:
        advice = "To decide again: robota trust"
    return Check(name="trust", health=health, text=f"this workspace: {trust.state}", advice=advice)


async def _provider(settings: Settings, env: Mapping[str, str]) -> Check:
    name = "provider"
    try:
        chosen = current_profile(settings, env)
        profile = with_defaults(chosen, definition(chosen.type))
        probed = await probe(profile, env, PROBE_SECONDS)
    except NoProviderError:
        return Check(name=name, health=Health.BAD, text="none is configured", advice="Set one up: robota --configure")
    except (ConfigError, ProviderFault) as error:
        advice = "To correct the profile: robota --configure"
        return Check(name=name, health=Health.BAD, text=single_line(str(error), 500), advice=advice)
    model = f", model {profile.model}" if profile.model else ""
    text = f"{profile.name} (type {profile.type}{model}): {single_line(probed.text, 300)}"
    assumption = definition(profile.type).model_info(with_window(profile, probed.window)).assumption or ""
    others = "" if probed.offers_model else _other_models(profile.model or "", probed.models)
    advice = f"{others} {assumption}".strip()
    return Check(name=name, health=Health.NOTE if advice else Health.GOOD, text=text, advice=advice)


def _other_models(wanted: str, offered: Sequence[str]) -> str:
    """Advice for a model that the server does not list. Some servers have more models than they list."""
    from difflib import get_close_matches

    near = get_close_matches(wanted, offered, n=NEAR_MODELS, cutoff=0.4) or list(offered[:NEAR_MODELS])
    names = ", ".join(single_line(name) for name in near)
    correct = "To correct the profile: robota --configure"
    return f"Similar models: {names}. {correct}" if names else correct


def _disk(root: Path, env: Mapping[str, str]) -> Check:
    places = [root, user_directory(env)]
    free = {place: shutil.disk_usage(_existing(place)).free for place in places}
    least = min(free, key=lambda place: free[place])
    text = f"{free[least] >> 20:,} MiB free for {least}"
    if free[least] >= MIN_FREE_BYTES:
        return Check(name="disk", health=Health.GOOD, text=text)
    advice = "Free some disk space: session logs cannot be written to a full disk."
    return Check(name="disk", health=Health.BAD, text=text, advice=advice)


def _existing(place: Path) -> Path:
    return next(path for path in (place, *place.parents) if path.exists())
