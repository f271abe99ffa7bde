"""Builds the sandbox for commands, and selects the environment variables that are withheld from them."""

import os
import sys
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import robota
from robota.config.paths import home_directory, user_directory
from robota.config.settings.load import Settings
from robota.contracts.workspace import CommandReach
from robota.log.errors import LogError
from robota.protocol.permission_mode import PermissionMode
from robota.secrets.named_values import referenced_variables
from robota.workspace.problems import CommandNotStarted
from robota.workspace.process.withheld_variables import WithheldVariables
from robota.workspace.sandbox.session_sandbox import HomeSettings, SessionSandbox

if TYPE_CHECKING:
    from io import FileIO

    from robota.log.chain.writer import SessionLog
    from robota.workspace.checkpoints.held_back import ChangedFiles, HeldBack
    from robota.workspace.checkpoints.store import CheckpointStore
    from robota.workspace.checkpoints.unseen_in_git import GitSnapshot, UnseenChanges
    from robota.workspace.confinement import ConfinementFacts
    from robota.workspace.steering_files import Survey

MAX_HOSTS_LOGGED: Final = 1_000
ALWAYS_KEPT_OUT: Final = ("writing outside the workspace", "your home directory except for tools and caches")


def session_sandbox(settings: Settings, root: Path, env: Mapping[str, str]) -> SessionSandbox | None:
    """The sandbox; None if it is disabled or the permission mode is bypassPermissions."""
    values = settings.values
    if not values.sandbox.enabled or values.permissions.default_mode is PermissionMode.BYPASS:
        return None
    return SessionSandbox(
        root,
        home=home_directory(env),
        user_directory=user_directory(env),
        home_settings=HomeSettings(readable=values.sandbox.readable, as_workspace=values.sandbox.home_as_workspace),
        network=values.sandbox.network,
        allowed_hosts=values.sandbox.allowed_hosts,
    )


def command_reach(kind: str | None, settings: Settings) -> CommandReach:
    """What commands can reach in a sandbox of this kind; None before the first command has detected it."""
    configured = settings.values.sandbox
    if kind in ("off", "none"):
        return CommandReach(lacks_sandbox=kind == "none")
    if configured.allowed_hosts:
        return CommandReach(is_sandboxed=True, hosts=() if kind == "landlock" else tuple(configured.allowed_hosts))
    return CommandReach(is_sandboxed=True, hosts=None if configured.network else ())


def holds_robota(root: Path) -> bool:
    """Whether Robota itself, or the Python that runs it, is installed in the workspace."""
    return any(Path(place).is_relative_to(root) for place in (sys.prefix, *robota.__path__))


def kept_out(kind: str, settings: Settings) -> str:
    """A description of what a sandbox of this kind denies to commands; empty for none."""
    if kind == "none":
        return ""
    sandbox = settings.values.sandbox
    hosts = ", ".join(sandbox.allowed_hosts) if kind == "bubblewrap" else ""
    if sandbox.allowed_hosts:
        network = f"the network except {hosts}" if hosts else "the network"
    else:
        network = "" if sandbox.network else "the network"
    return ", ".join(part for part in (network, *ALWAYS_KEPT_OUT) if part)


def withheld_variables(settings: Settings) -> WithheldVariables:
    """The variables that commands, MCP servers and hooks do not get: keys of profiles, and what looks like a secret."""
    profiles = settings.values.providers.values()
    named = {name for profile in profiles for name in referenced_variables([profile.api_key, profile.options])}
    return WithheldVariables(named=frozenset(named), passed=frozenset(settings.values.sandbox.pass_env))


class SessionConfinement:
    """Implements `ConfinementService` for a local workspace. Its modules are imported with the first command."""

    def __init__(self, settings: Settings, root: Path, env: Mapping[str, str], sandbox: SessionSandbox | None) -> None:
        self._settings = settings
        self._root = root
        self._env = env
        self._sandbox = sandbox

    def facts(self) -> "ConfinementFacts":
        from robota.app.rewinding.checkpoints import has_checkpoints
        from robota.workspace.confinement import ConfinementFacts

        values = self._settings.values
        kind, reason, hides_home = self._confined_by()
        home = Path(os.path.realpath(home_directory(self._env)))
        return ConfinementFacts(
            sandbox=kind,
            why_no_sandbox=reason,
            hides_home=hides_home,
            has_machine_network=values.sandbox.network and not values.sandbox.allowed_hosts,
            is_home=home.is_relative_to(os.path.realpath(self._root)),
            is_trusted=self._settings.is_trusted,
            max_growth_bytes=values.sandbox.max_growth_bytes,
            has_checkpoints=has_checkpoints(values.checkpoints, self._root, self._env),
        )

    def shows_kept_files(self) -> bool | None:
        from robota.workspace.git.git_directories import find_git_directories
        from robota.workspace.git.index_gitlinks import UnreadableIndex, read_index

        try:
            kept = () if self._sandbox is None else self._sandbox.kept_paths
            directories = find_git_directories(Path(os.path.realpath(self._root))) if kept else None
            if directories is None:
                return False
            entries = read_index((directories.own / "index").read_bytes()).entries
        except FileNotFoundError:
            return False
        except (CommandNotStarted, UnreadableIndex, OSError):
            return None
        tracked = (directories.top / os.fsdecode(entry.name) for entry in entries)
        hidden = frozenset(kept)
        return any(path in hidden or not hidden.isdisjoint(path.parents) for path in tracked)

    def may_work(self) -> bool:
        if self._sandbox is None or self._sandbox.known_kind not in (None, "bubblewrap"):
            return False
        values = self._settings.values
        has_network = values.sandbox.network and not values.sandbox.allowed_hosts
        return self._settings.is_trusted and not has_network and values.checkpoints.enabled

    def take_turn(self) -> "FileIO | None":
        from robota.workspace.checkpoints.work_lock import lock_for_unapproved

        return lock_for_unapproved(self._store().directory)

    def survey(self, since: "Survey | None" = None) -> "Survey":
        from robota.workspace.steering_files import survey

        return survey(self._root, since)

    def notes_refs(self) -> bool:
        from robota.workspace.git.ref_moves import UnreadableNames, read_git_names

        try:
            read_git_names(self._root)
        except UnreadableNames:
            return False
        return True

    def git_snapshot(self) -> "GitSnapshot | None":
        from robota.workspace.checkpoints.unseen_in_git import git_snapshot

        return git_snapshot(self._root)

    async def take_unseen_out_of_git(self, before: "GitSnapshot") -> "UnseenChanges":
        from robota.workspace.checkpoints.unseen_in_git import take_back_unseen

        return await take_back_unseen(self._root, self._env, before)

    def shares_git_data(self) -> bool:
        from robota.workspace.git.git_directories import find_git_directories

        directories = find_git_directories(self._root)
        return directories is not None and directories.is_worktree

    def hold_back(self, before: str, paths: Collection[str]) -> "HeldBack":
        from robota.workspace.checkpoints.held_back import hold_back

        return hold_back(self._store(), before, paths)

    def remove_compiled(self, paths: Collection[str]) -> list[str]:
        from robota.workspace.steering_files import remove_compiled

        return remove_compiled(self._root, paths)

    def put_back(self, held: "HeldBack") -> None:
        from robota.workspace.checkpoints.held_back import put_back

        put_back(self._store(), held)

    def changed_since(self, before: str) -> "ChangedFiles":
        from robota.workspace.checkpoints.held_back import changed_since

        return changed_since(self._store(), before)

    def _store(self) -> "CheckpointStore":
        from robota.app.rewinding.checkpoints import checkpoint_store

        return checkpoint_store(self._settings.values.checkpoints, self._root, self._env)

    def _confined_by(self) -> tuple[str | None, str, bool]:
        """The kind of sandbox, why it is not a stronger one, and whether it hides the home."""
        if self._sandbox is None:
            return None, "the settings or the permission mode switch the sandbox off", False
        try:
            backend = self._sandbox.backend
        except CommandNotStarted as error:
            return None, str(error).removesuffix("."), False
        return str(backend.kind), backend.reason, bool(backend.border.home.areas)


def host_logger(log: "SessionLog") -> Callable[[str], None]:
    """A function that logs each host that commands reach, once."""
    logged: set[str] = set()

    def note(place: str) -> None:
        from robota.log.kinds.calls import ReachedRecord

        if place not in logged and len(logged) < MAX_HOSTS_LOGGED:
            logged.add(place)
            with suppress(LogError):
                log.append(ReachedRecord(place=place))

    return note
