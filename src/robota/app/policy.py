"""Builds the policy and the task modes of a session, and policies for `robota policy`."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from robota.config.errors import ConfigError
from robota.config.launch_options import LaunchOptions
from robota.config.paths import home_directory, user_directory
from robota.config.settings.load import Settings
from robota.config.settings.schema import Permissions
from robota.policy.decide import SessionPolicy
from robota.policy.modes.task_modes import TaskModes, known_modes
from robota.policy.protected.path_resolver import KeptFiles, PathResolver
from robota.policy.rules.sources import rules_of_options, rules_of_settings, rules_to_look_at
from robota.policy.stages import AddedPlaces
from robota.tools.registry import builtin_names
from robota.workspace.files.ignore import KEPT_FROM_THE_MODEL, IgnoreFiles, is_ignore_file
from robota.workspace.git.git_safety import ConfiguredPrograms, GitSafety
from robota.workspace.outside_program import find_program
from robota.workspace.problems import CommandNotStarted, FileProblem
from robota.workspace.sandbox.session_sandbox import SessionSandbox

if TYPE_CHECKING:
    from robota.workspace.entry_files.approved_entries import ApprovedEntries
    from robota.workspace.git.tracked_files import TrackedFiles
    from robota.workspace.obeyed.linked_names import LinkedNames
    from robota.workspace.sandbox.home.added_directories import AddedDirectories

# Deeper paths count as ignored, because every directory on the way has to be checked.
MAX_DEPTH: Final = 100
USER_MODES: Final = "modes.yaml"
WORKSPACE_MODES: Final = (".roomodes", ".robota/modes.yaml")


def session_policy(
    launch: LaunchOptions, settings: Settings, root: Path, sandbox: SessionSandbox | None, env: Mapping[str, str]
) -> tuple[SessionPolicy, tuple[str, ...]]:
    """The policy with the rules of the command line and the settings, and notices about invalid rules.

    Raises `ConfigError` if a directory that the command line names cannot be read.
    """
    works = None if sandbox is None else sandbox.works
    policy, notices = _workspace_policy(settings, root, env, works, tuple(tool.name for tool in launch.additions.tools))
    entries = None if sandbox is None else _entries(root, env, lambda: _kind_of(sandbox))
    uses_machine_network = settings.values.sandbox.network
    options = rules_of_options(launch.allowed_tools, launch.disallowed_tools, policy.names)
    keep_rules = partial(_keep_rules, launch.kept_in or root, env)
    added, not_added = _added_directories(launch, settings, root, env)
    return msgspec.structs.replace(
        policy,
        rules=options + policy.rules,
        entries=entries,
        own_network=lambda: sandbox is not None and not uses_machine_network and _kind_of(sandbox) == "bubblewrap",
        added=added,
        keep_rules=keep_rules,
    ), (*notices, *not_added)


def _added_directories(
    launch: LaunchOptions, settings: Settings, root: Path, env: Mapping[str, str]
) -> tuple[AddedPlaces, tuple[str, ...]]:
    """The directories outside the workspace that may be read, and notices about those of the settings that may not.

    Raises `ConfigError` about one of the command line.
    """
    home, named = home_directory(env), settings.values.permissions.additional_directories

    paths: dict[Path, None] = {}

    @cache
    def added() -> "AddedDirectories":
        from robota.workspace.sandbox.home.added_directories import AddedDirectories

        return AddedDirectories(root, home, user_directory(env), paths)

    places = AddedPlaces(directories=added, now=paths.copy)
    if not named and not launch.add_dir:
        return places, ()
    in_settings = [home / name[2:] if name.startswith("~/") else root / name for name in named]
    return places, _add(added(), in_settings, [Path.cwd() / directory.expanduser() for directory in launch.add_dir])


def _add(added: "AddedDirectories", in_settings: Sequence[Path], in_options: Sequence[Path]) -> tuple[str, ...]:
    """Add the directories; notices about those of the settings that cannot be read."""
    from robota.workspace.sandbox.home.added_directories import NotAdded

    try:
        added.add_all(in_options)
    except NotAdded as error:
        raise ConfigError(str(error).replace("Nothing was added", "Nothing was started")) from error
    notices = list[str]()
    for directory in in_settings:
        try:
            added.add(directory)
        except NotAdded as error:
            notices.append(f"permissions.additionalDirectories: {error}")
    return tuple(notices)


def _keep_rules(project: Path, env: Mapping[str, str], scope: str, granted: Sequence[str]) -> str:
    from robota.config.settings.granted_rules import keep_rules

    return keep_rules(scope, granted, project, env)


def permissions_policy(permissions: Permissions, root: Path, env: Mapping[str, str]) -> SessionPolicy:
    """A policy with only these rules, as in a trusted workspace with a sandbox: the same on every machine."""
    names = builtin_names()
    rules = rules_to_look_at(permissions, names)
    return SessionPolicy(rules=rules, resolver=_resolver(root, env), names=names, sandbox_works=lambda: True)


def settings_policy(settings: Settings, root: Path, env: Mapping[str, str]) -> SessionPolicy:
    """The policy that a session would have here. The sandbox is probed when the first command is judged."""
    kind = _sandbox_probe(settings, root, env)
    if kind is None:
        return _workspace_policy(settings, root, env, None)[0]
    policy, _ = _workspace_policy(settings, root, env, lambda: kind() != "none")
    uses_machine_network = settings.values.sandbox.network
    return msgspec.structs.replace(
        policy,
        entries=_entries(root, env, kind),
        added=_added_directories(LaunchOptions(), settings, root, env)[0],
        own_network=lambda: not uses_machine_network and kind() == "bubblewrap",
    )


def _entries(root: Path, env: Mapping[str, str], kind: Callable[[], str]) -> "Callable[[], ApprovedEntries]":
    """The files that decide what commands mean, looked at with the first command that such a rule could be about."""

    @cache
    def entries() -> "ApprovedEntries":
        from robota.workspace.entry_files.approved_entries import ApprovedEntries

        return ApprovedEntries(root, user_directory(env), lambda: kind() == "bubblewrap")

    return entries


def _workspace_policy(
    settings: Settings,
    root: Path,
    env: Mapping[str, str],
    sandbox_works: Callable[[], bool] | None,
    more_tools: Sequence[str] = (),
) -> tuple[SessionPolicy, tuple[str, ...]]:
    """The policy with the rules of the settings, and notices about invalid rules."""
    names = {**builtin_names(), **{name: name for name in more_tools}}
    rules, notices = rules_of_settings(settings.entries, names)
    policy = SessionPolicy(
        rules=rules,
        resolver=_resolver(root, {**env, **settings.values.env}),
        names=names,
        trusted=settings.is_trusted,
        files=kept_files(root),
        git_safety=partial(_git_safety, root),
        git_programs=cache(partial(_git_programs, root, env)),
        sandbox_works=sandbox_works,
    )
    return policy, notices


def _resolver(root: Path, env: Mapping[str, str]) -> PathResolver:
    return PathResolver(
        root=root,
        home=home_directory(env),
        real=os.path.realpath,
        matching=_files_matching,
        program=partial(find_program, environment=env, not_beneath=None),
        linked=_linked_names(root),
    )


def _linked_names(root: Path) -> Callable[[str], tuple[str, ...]]:
    """Finds the names under which links lead to a place. Looked up with the first call that writes."""

    @cache
    def links() -> "LinkedNames":
        from robota.workspace.git.tracked_files import TrackedFiles
        from robota.workspace.obeyed.linked_names import LinkedNames

        return LinkedNames(root, TrackedFiles(root).links)

    return lambda place: links().names_of(place)


# These wrappers import their modules with the first command that is judged.
def _files_matching(directory: str, pattern: str) -> tuple[str, ...]:
    from robota.workspace.shell.expansion import files_matching

    return files_matching(directory, pattern)


def _files_below(root: Path, place: str) -> tuple[str, ...] | None:
    from robota.workspace.files.found_files import files_below

    return files_below(str(root), place)


def _git_safety(root: Path, directory: str) -> GitSafety:
    from robota.workspace.git.repository_safety import git_safety

    return git_safety(root, directory)


def _unhidden_names(root: Path, start: str, below: Sequence[str]) -> tuple[str, ...]:
    from robota.workspace.search.unhidden import unhidden_names

    return unhidden_names(str(root), start, below)


def _git_programs(root: Path, env: Mapping[str, str]) -> ConfiguredPrograms:
    from robota.workspace.git.configured_programs import configured_programs

    return configured_programs(root, env)


def kept_files(root: Path) -> KeptFiles:
    """The facts about files of a workspace that policy uses."""
    ignored = IgnoreFiles(root, KEPT_FROM_THE_MODEL)
    untracked = cache(partial(_may_have_ignore_file, root))

    @cache
    def tracked_files() -> "TrackedFiles":
        from robota.workspace.git.tracked_files import TrackedFiles

        return TrackedFiles(root)

    return KeptFiles(
        is_ignored=partial(_is_ignored, ignored),
        ignores_any=lambda: _has_ignore_file(root, tracked_files().names()) or untracked(),
        below=partial(_files_below, root),
        tracked=lambda: tracked_files().names(),
        published=lambda place: tracked_files().holds_as_it_is(place),
        unhidden=partial(_unhidden_names, root),
    )


def _is_ignored(ignored: IgnoreFiles, place: str) -> bool:
    parts = tuple(part for part in place.split("/") if part not in {"", "."})
    try:
        return len(parts) > MAX_DEPTH or ignored.match(parts)
    except FileProblem:
        # An unreadable ignore file may name anything.
        return True


def _may_have_ignore_file(root: Path) -> bool:
    """Whether there is an ignore file anywhere, or so much that it is unknown. Looked up once, as hidden files are."""
    from robota.workspace.files.found_files import MAX_SEARCHED, find_files

    found = find_files(str(root), ".", MAX_SEARCHED)
    return found is None or any(map(is_ignore_file, found.files))


def _has_ignore_file(root: Path, tracked: tuple[str, ...] | None) -> bool:
    """Whether there is an ignore file in the root, or a tracked one in a directory below it."""
    return os.path.lexists(root / KEPT_FROM_THE_MODEL) or any(map(is_ignore_file, tracked or ()))


def _sandbox_probe(settings: Settings, root: Path, env: Mapping[str, str]) -> Callable[[], str] | None:
    """The kind of sandbox that works here, detected once; None if it is disabled."""
    if not settings.values.sandbox.enabled:
        return None

    @cache
    def kind() -> str:
        network = settings.values.sandbox.network
        sandbox = SessionSandbox(root, home=home_directory(env), user_directory=user_directory(env), network=network)
        try:
            return _kind_of(sandbox)
        finally:
            sandbox.close()

    return kind


def _kind_of(sandbox: SessionSandbox) -> str:
    """The kind of the sandbox; "unknown" if that cannot be found out right now, when no command can run either."""
    try:
        return str(sandbox.backend.kind)
    except CommandNotStarted:
        return "unknown"


def task_modes(
    launch: LaunchOptions, settings: Settings, root: Path, env: Mapping[str, str]
) -> tuple[TaskModes, tuple[str, ...]]:
    """All task modes, and notices about invalid files. Raises `ConfigError` if `launch.mode` is unknown."""
    modes = known_modes()
    notices: tuple[str, ...] = ()
    files = [user_directory(env) / USER_MODES]
    if settings.trust is not None and settings.is_trusted:
        # Only regular files of the trusted snapshot, never links.
        files += [root / path for path in WORKSPACE_MODES if settings.trust.snapshot.data_of(path) is not None]
    if present := [file for file in files if file.is_file()]:
        from robota.policy.modes.mode_file import read_modes

        modes, notices = read_modes(present)
    if launch.mode is not None and launch.mode not in modes:
        raise ConfigError(f"There is no mode {launch.mode!r}; modes are {', '.join(modes)}. Nothing was started.")
    return TaskModes(modes), notices
