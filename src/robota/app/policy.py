"""The policy of a session, and the same policy for looking at it (`robota policy`)."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from robota.config.launch_options import LaunchOptions
from robota.config.paths import home_directory
from robota.config.settings.load import Settings
from robota.config.settings.schema import Permissions
from robota.policy.decide import SessionPolicy
from robota.policy.protected.path_resolver import KeptFiles, PathResolver
from robota.policy.rules.sources import rules_of_options, rules_of_settings, rules_to_look_at
from robota.tools.registry import builtin_names
from robota.workspace.files.ignore import KEPT_FROM_THE_MODEL, IgnoreFiles
from robota.workspace.git.git_place import ConfiguredPrograms, GitPlace
from robota.workspace.problems import FileProblem
from robota.workspace.sandbox.session_sandbox import SessionSandbox

if TYPE_CHECKING:
    from robota.workspace.git.tracked_files import TrackedFiles

# No file lies deeper, and every directory on the way is looked at.
DEEPEST: Final = 100


def session_policy(
    launch: LaunchOptions, settings: Settings, root: Path, sandbox: SessionSandbox | None, env: Mapping[str, str]
) -> tuple[SessionPolicy, tuple[str, ...]]:
    """The rules of the command line and of the settings, and which of them cannot be used."""
    names = builtin_names()
    rules, notices = rules_of_settings(settings.entries, names)
    project = launch.kept_in or root
    judge = SessionPolicy(
        rules=rules_of_options(launch.allowed_tools, launch.disallowed_tools, names) + rules,
        resolver=_resolver(root, env),
        names=names,
        trusted=settings.is_trusted,
        files=kept_files(root),
        git_place=partial(_git_place, root),
        git_programs=cache(partial(_git_programs, root, env)),
        sandbox_works=None if sandbox is None else sandbox.works,
        keep_rules=partial(_keep_rules, project, env),
    )
    return judge, notices


def _keep_rules(project: Path, env: Mapping[str, str], scope: str, granted: Sequence[str]) -> str:
    from robota.config.settings.granted_rules import keep_rules

    return keep_rules(scope, granted, project, env)


def policy_of_permissions(permissions: Permissions, root: Path, env: Mapping[str, str]) -> SessionPolicy:
    """Only these rules, in a trusted workspace with a sandbox that works: the same answer on every machine."""
    names = builtin_names()
    rules = rules_to_look_at(permissions, names)
    return SessionPolicy(rules=rules, resolver=_resolver(root, env), names=names, sandbox_works=lambda: True)


def policy_of_settings(settings: Settings, root: Path, env: Mapping[str, str]) -> SessionPolicy:
    """What a session would start with here; the sandbox is tried when the first command is judged, and taken down."""
    names = builtin_names()
    rules, _ = rules_of_settings(settings.entries, names)
    return SessionPolicy(
        rules=rules,
        resolver=_resolver(root, env),
        names=names,
        trusted=settings.is_trusted,
        files=kept_files(root),
        git_place=partial(_git_place, root),
        git_programs=cache(partial(_git_programs, root, env)),
        sandbox_works=_sandbox_probe(settings, root, env),
    )


def _resolver(root: Path, env: Mapping[str, str]) -> PathResolver:
    return PathResolver(root=root, home=home_directory(env), real=os.path.realpath, matching=_files_matching)


# What looks at repositories and patterns is loaded with the first command that is judged.
def _files_matching(directory: str, pattern: str) -> tuple[str, ...]:
    from robota.workspace.shell.expansion import files_matching

    return files_matching(directory, pattern)


def _files_below(root: Path, place: str) -> tuple[str, ...] | None:
    from robota.workspace.files.found_files import files_below

    return files_below(str(root), place)


def _git_place(root: Path, directory: str) -> GitPlace:
    from robota.workspace.git.repository_safety import git_place

    return git_place(root, directory)


def _unhidden_names(root: Path, start: str, below: Sequence[str]) -> tuple[str, ...]:
    from robota.workspace.search.unhidden import unhidden_names

    return unhidden_names(str(root), start, below)


def _git_programs(root: Path, env: Mapping[str, str]) -> ConfiguredPrograms:
    from robota.workspace.git.configured_programs import configured_programs

    return configured_programs(root, env)


def kept_files(root: Path) -> KeptFiles:
    """What policy may know of the files in a workspace."""
    ignored = IgnoreFiles(root, KEPT_FROM_THE_MODEL)

    @cache
    def tracked_files() -> "TrackedFiles":
        from robota.workspace.git.tracked_files import TrackedFiles

        return TrackedFiles(root)

    return KeptFiles(
        is_ignored=partial(_is_ignored, ignored),
        ignores_any=lambda: _has_ignore_file(root, tracked_files().names()),
        below=partial(_files_below, root),
        tracked=lambda: tracked_files().names(),
        published=lambda place: tracked_files().holds_as_it_is(place),
        unhidden=partial(_unhidden_names, root),
    )


def _is_ignored(ignored: IgnoreFiles, place: str) -> bool:
    parts = tuple(part for part in place.split("/") if part not in {"", "."})
    try:
        return len(parts) > DEEPEST or ignored.match(parts)
    except FileProblem:
        # An ignore file that cannot be read may name anything.
        return True


def _has_ignore_file(root: Path, tracked: tuple[str, ...] | None) -> bool:
    """In the root, or in a directory below it if git knows of it."""
    return os.path.lexists(root / KEPT_FROM_THE_MODEL) or any(
        place.endswith(f"/{KEPT_FROM_THE_MODEL}") for place in tracked or ()
    )


def _sandbox_probe(settings: Settings, root: Path, env: Mapping[str, str]) -> Callable[[], bool] | None:
    """None if the sandbox is switched off."""
    if not settings.values.sandbox.enabled:
        return None

    @cache
    def works() -> bool:
        network = settings.values.sandbox.network
        sandbox = SessionSandbox(root, home=home_directory(env), secrets=(), network=network)
        try:
            return sandbox.works()
        finally:
            sandbox.close()

    return works
