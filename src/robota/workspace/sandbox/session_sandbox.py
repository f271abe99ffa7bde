"""The sandbox of a session, detected when the first command needs it, because that takes longer than the start."""

import os
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from robota.workspace.files.confined_paths import HeldRoot
from robota.workspace.problems import CommandNotStarted, RootReplaced
from robota.workspace.process.wrapped_command import NO_MORE_ACCESS, SandboxAccess, WrappedCommand, unwrapped

if TYPE_CHECKING:
    from robota.workspace.confinement import Confined
    from robota.workspace.entry_files.entry import PinnedFile
    from robota.workspace.process.watchdog import GrowthLimit
    from robota.workspace.sandbox.backend import SandboxBackend
    from robota.workspace.sandbox.egress.gateway import EgressGateway, ServerPorts
    from robota.workspace.sandbox.port_forwarding import PortForwarding
    from robota.workspace.sandbox.private_tmp import PrivateTmp
    from robota.workspace.sandbox.session_network import SessionNetwork

# Each path that is hidden costs a mount for every command, and so does each directory on the way to it.
MAX_HIDDEN: Final = 200
HIDDEN_AS_A_WHOLE: Final = "because of many files that are kept from the model, these are hidden from commands: {}"
NOT_SEARCHED: Final = (
    "The command was not run: the workspace is too large to find the files that are kept from the model, and a command "
    "could read them. Start Robota in a part of it, or let the user run the command without the sandbox."
)
TOO_MANY_HIDDEN: Final = (
    "The command was not run: at the top of the workspace are more files that are kept from the model than can be "
    "hidden from a command. Move them into a directory, or let the user run the command without the sandbox."
)
NOT_OUTSIDE: Final = (
    "The command was not run: the directory of Robota ({}) and the workspace ({}) are one inside the other, so a "
    "command could change Robota's own state. Set ROBOTA_HOME to a directory elsewhere, or work in another directory."
)
NO_TEMPORARY: Final = (
    "The command was not run: there is no place for its temporary files ({}). Make room in the user's directory "
    "(ROBOTA_HOME), or set TMPDIR to a directory outside the workspace."
)
NOT_CONFINED: Final = (
    "The command was not run: it was to run without approval, and that needs bubblewrap without the network of this "
    "machine. Nothing was changed. Call it again; the user will be asked."
)
TOO_MUCH_READ_ONLY: Final = (
    "The command was not run: too many places in the workspace are not saved and would have to be read-only for a "
    "command that nobody approved. Nothing was changed."
)
NOT_PINNED: Final = (
    "The command was not run: a rule allows it only while certain files are unchanged, and without bubblewrap they "
    "cannot be kept unchanged while it runs. Call it again; the user will be asked."
)
NOT_READ_ONLY: Final = (
    "The program was not started: it may only read the workspace, and without bubblewrap that cannot be enforced. "
    "Continue without it."
)
ONLY_READS: Final = "this program only reads"
# Each costs a mount, and so does each directory on the way to it.
MAX_READ_ONLY: Final = 200
HOME_IS_WORKSPACE: Final = (
    "The command was not run: the workspace is your home directory or contains it, so a command could change all "
    "that is yours. Start Robota in the directory of a project. If you mean it, set this in your user settings: "
    "robota config set sandbox.homeAsWorkspace true"
)


class HomeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`readable` are further paths in the home that commands may read; `as_workspace`: they may run in a home."""

    readable: tuple[str, ...] = ()
    as_workspace: bool = False


NO_SETTINGS: Final = HomeSettings()


class SessionSandbox:
    """Wraps a session's commands in the strongest sandbox that works here, all with the same private /tmp."""

    def __init__(
        self,
        root: Path,
        *,
        home: Path | None,
        user_directory: Path | None = None,
        home_settings: HomeSettings = NO_SETTINGS,
        network: bool = False,
        allowed_hosts: Sequence[str] = (),
    ) -> None:
        """With `allowed_hosts`, `network` is ignored: only they are allowed, or none if the list cannot be enforced.

        In `user_directory`, which is hidden, is kept what commands must not be able to replace.
        """
        self._held_root = HeldRoot(Path(os.path.realpath(root)))
        self._home = home
        self._user_directory = user_directory
        self._find_protected: Callable[[], Sequence[Path]] = tuple
        self._find_shown: Callable[[], Sequence[Path]] = tuple
        self._find_added: Callable[[], Collection[Path]] = tuple
        self._find_hidden_in: Callable[[Path], Sequence[str] | None] = lambda directory: ()
        self._seen_added: tuple[Path, ...] = ()
        self._home_settings = home_settings
        self._network = network and not allowed_hosts
        self._allowed_hosts = tuple(allowed_hosts)
        self._gateway: EgressGateway | None = None
        self._backend: SandboxBackend | None = None
        self._private_tmp: PrivateTmp | None = None
        self._joined: SandboxBackend | None = None
        self._session_network: SessionNetwork | None = None
        self._ports: PortForwarding | None = None
        self._on_detected: Callable[[str, str], None] = lambda kind, reason: None
        self._on_reached: Callable[[str], None] = lambda host: None
        self._on_left_over: Callable[[str], None] = lambda message: None
        self._find_kept: Callable[[], tuple[str, ...] | None] = tuple
        self._kept: tuple[Path, ...] | None = None
        self._has_taken_over = False

    @property
    def backend(self) -> "SandboxBackend":
        """The sandbox that works here. The first access detects it by running a program in it."""
        if self._backend is None:
            from robota.workspace.sandbox.backend import detect_backend
            from robota.workspace.sandbox.border import build_border

            self._require_own_directory()
            self._private_tmp = self._private_tmp or self._new_private_tmp()
            border = build_border(
                self._held_root,
                self._private_tmp.path,
                home=self._home,
                secrets=() if self._user_directory is None else (self._user_directory,),
                protected=self._find_protected(),
                readable=self._home_settings.readable,
                network=self._network,
            )
            border = msgspec.structs.replace(
                border, user_directory=self._user_directory, shown=tuple(self._find_shown())
            )
            self._backend = detect_backend(border)
            self._on_detected(self._backend.kind, self._backend.reason)
        return self._backend

    @property
    def known_kind(self) -> str | None:
        """The kind of sandbox that was detected; None before that."""
        return None if self._backend is None else str(self._backend.kind)

    def works(self) -> bool:
        """Whether a sandbox works on this machine. True if that is unknown right now: then no command can run."""
        try:
            return self.backend.kind != "none"
        except CommandNotStarted:
            return True

    def on_detected(self, tell: Callable[[str, str], None]) -> None:
        """Call `tell` with the kind of sandbox, and why it is not a stronger one, as soon as it is detected."""
        self._on_detected = tell
        if self._backend is not None:
            tell(self._backend.kind, self._backend.reason)

    def on_reached(self, tell: Callable[[str], None]) -> None:
        """Call `tell` with host and port whenever a command connects to an allowed host."""
        self._on_reached = tell

    def on_left_over(self, tell: Callable[[str], None]) -> None:
        """Call `tell` with what a killed session left and could not be taken over."""
        self._on_left_over = tell

    def protect(self, find: Callable[[], Sequence[Path]]) -> None:
        """Keep commands from changing or creating the paths in the workspace that `find` returns for the first one."""
        self._find_protected = find

    def show(self, find: Callable[[], Sequence[Path]]) -> None:
        """Let commands read the directories outside the workspace that `find` returns for the first one."""
        self._find_shown = find

    def show_added(
        self, find_added: Callable[[], Collection[Path]], find_hidden: Callable[[Path], Sequence[str] | None]
    ) -> None:
        """Let commands read the directories that `find_added` returns, of which there may be more later.

        What `find_hidden` returns for one is hidden; all of it if that is None, because it cannot be searched.
        """
        self._find_added, self._find_hidden_in = find_added, find_hidden

    def hide_from_commands(self, find: Callable[[], tuple[str, ...] | None]) -> None:
        """Hide the paths that `find` returns from commands; it is called for the first one. None means too many."""
        self._find_kept, self._kept = find, None

    def wrap(self, command: Sequence[str], cwd: Path, access: SandboxAccess = NO_MORE_ACCESS) -> WrappedCommand:
        """Wrap a command in the sandbox; unwrapped if none works. Raises `CommandNotStarted`."""
        self._refuse_in_a_home()
        if not self.works():
            return unwrapped(command, cwd)
        # A command that was granted further hosts gets its own network, so that other commands cannot use them.
        self._take_over_abandoned_git_data()
        joins = access.session_network and not access.hosts
        self._search_again_if_moved()
        self._show_new_directories()
        backend = self._joined_backend() if joins else self.backend
        if backend.kind == "bubblewrap" and (kept := self._kept_paths()):
            border = msgspec.structs.replace(backend.border, kept_from_model=kept)
            backend = msgspec.structs.replace(backend, border=border)
        if access.confined is not None:
            backend = self._confining(backend, access.confined)
        if access.pinned:
            backend = self._pinning(backend, access.pinned)
        if access.is_read_only:
            return self._only_reading(backend).wrap(command, cwd, access)
        # Without a proxy it would be unknown which host a program could not reach, and so what little to open for it.
        names_hosts = bool(self._allowed_hosts or access.hosts or access.confined is not None)
        if names_hosts and not self._network and backend.kind == "bubblewrap":
            servers = self._server_ports() if access.hosts else None
            wrapped = self._egress_gateway(access.hosts).wrap(backend, command, cwd, access, servers)
        else:
            wrapped = backend.wrap(command, cwd, access)
        growth = None if access.confined is None else self._growth_limit(access.confined, backend)
        return msgspec.structs.replace(wrapped, missed_places=self._missed_places, growth=growth)

    def _show_new_directories(self) -> None:
        """Make visible what the user has added since the last command."""
        directories = tuple(self._find_added())
        new = [directory for directory in directories if directory not in self._seen_added]
        if not new:
            return
        self._seen_added = directories
        from robota.workspace.sandbox.closed_paths import fit_into

        border = self.backend.border
        for directory in new:
            found = self._find_hidden_in(directory)
            hidden = (
                {directory} if found is None else fit_into({directory / each for each in found}, directory, MAX_HIDDEN)
            )
            shown = border.shown if directory in hidden else (*border.shown, directory)
            home = msgspec.structs.replace(border.home, hidden=(*border.home.hidden, *sorted(hidden)))
            border = msgspec.structs.replace(border, shown=shown, home=home)
        self._backend = msgspec.structs.replace(self.backend, border=border)
        if self._joined is not None:
            self._joined = msgspec.structs.replace(self._joined, border=border)

    def _confining(self, backend: "SandboxBackend", confined: "Confined") -> "SandboxBackend":
        """The sandbox for a command that nobody approved: it cannot change what could not be restored."""
        from robota.workspace.files.path_status import may_be_present
        from robota.workspace.sandbox.closed_paths import fit_into

        if backend.kind != "bubblewrap" or self._network:
            raise CommandNotStarted(NOT_CONFINED)
        root, border = self._held_root.path, backend.border
        unsaved = {path for name in confined.read_only if may_be_present(path := root / name)}
        fitted = fit_into(unsaved, root, MAX_READ_ONLY)
        if root in fitted:
            raise CommandNotStarted(TOO_MUCH_READ_ONLY)
        closed = tuple(dict.fromkeys((*border.closed_paths, *sorted(fitted))))
        return msgspec.structs.replace(backend, border=msgspec.structs.replace(border, closed_paths=closed))

    def _pinning(self, backend: "SandboxBackend", pinned: "tuple[PinnedFile, ...]") -> "SandboxBackend":
        """The sandbox for a command that a rule allows only with these files."""
        if backend.kind != "bubblewrap":
            raise CommandNotStarted(NOT_PINNED)
        border = backend.border
        closed = tuple(dict.fromkeys((*border.closed_paths, *(self._held_root.path / file.path for file in pinned))))
        border = msgspec.structs.replace(border, closed_paths=closed, pinned=pinned)
        return msgspec.structs.replace(backend, border=border)

    def _only_reading(self, backend: "SandboxBackend") -> "SandboxBackend":
        """The sandbox for a program that can change nothing in the workspace and has no network."""
        from robota.workspace.sandbox.border import Network

        if backend.kind != "bubblewrap":
            raise CommandNotStarted(NOT_READ_ONLY)
        border = msgspec.structs.replace(backend.border, unprotectable=ONLY_READS, network=Network.OWN)
        return msgspec.structs.replace(backend, border=border)

    def _growth_limit(self, confined: "Confined", backend: "SandboxBackend") -> "GrowthLimit":
        from robota.workspace.process.watchdog import GrowthLimit

        places = (self._held_root.path, backend.border.temporary)
        return GrowthLimit(places=places, most_bytes=confined.facts.max_growth_bytes or 0)

    def _missed_places(self, output: str) -> tuple[str, ...]:
        # Imported only after a failure.
        from robota.workspace.sandbox.bubblewrap import is_visible
        from robota.workspace.sandbox.home.missed_places import missed_places

        border = self.backend.border
        return missed_places(output, border.home.areas, lambda path: is_visible(path, border), self._home)

    def _refuse_in_a_home(self) -> None:
        """Commands could change what programs run when the user logs in, and read everything that is theirs."""
        if self._home_settings.as_workspace or self._home is None:
            return
        if Path(os.path.realpath(self._home)).is_relative_to(os.path.realpath(self._held_root.path)):
            raise CommandNotStarted(HOME_IS_WORKSPACE)

    @property
    def ports(self) -> "PortForwarding | None":
        """The ports that commands of the session listen on; None unless they share a network."""
        return self._ports

    def close(self) -> None:
        """Remove the private /tmp and the network, and release the root. Idempotent."""
        if self._ports is not None:
            self._ports.close()
        if self._session_network is not None:
            self._session_network.close()
        self._ports = self._session_network = None
        if self._private_tmp is not None:
            self._private_tmp.remove()
            self._private_tmp = None
            self._remove_placeholder_pool()
            self._backend = self._joined = None
        self._held_root.close()

    def _remove_placeholder_pool(self) -> None:
        # Runs only after a command, which has imported this already.
        from robota.workspace.sandbox.placeholders import remove_pool

        with suppress(RootReplaced):
            remove_pool(self._held_root)

    def _search_again_if_moved(self) -> None:
        """Find the protected paths again if any is gone: the user may have moved it."""
        from robota.workspace.files.path_status import may_be_present

        border = self.backend.border
        if all(may_be_present(path) for path in border.closed_paths):
            return
        from robota.workspace.sandbox.border import searched_again

        renewed = searched_again(border)
        self._backend = msgspec.structs.replace(self.backend, border=renewed)
        if self._joined is not None:
            self._joined = msgspec.structs.replace(self._joined, border=renewed)
        if renewed.limitations != border.limitations:
            self._on_detected(self._backend.kind, renewed.limitations)

    @property
    def kept_paths(self) -> tuple[Path, ...]:
        """What is hidden from commands as it is kept from the model. Raises `CommandNotStarted` if it is unknown."""
        return self._kept_paths()

    def _kept_paths(self) -> tuple[Path, ...]:
        """The paths to hide, found again if one was moved; with many of them, whole directories."""
        from robota.workspace.files.path_status import may_be_present

        if self._kept is None or not all(may_be_present(path) for path in self._kept):
            from robota.workspace.sandbox.closed_paths import fit_into

            kept, root = self._find_kept(), self._held_root.path
            if kept is None:
                raise CommandNotStarted(NOT_SEARCHED)
            paths = {root / path for path in kept}
            fitted = fit_into(paths, root, MAX_HIDDEN)
            if root in fitted:
                raise CommandNotStarted(TOO_MANY_HIDDEN)
            if whole := sorted(str(path.relative_to(root)) for path in fitted - paths):
                self._on_detected(self.backend.kind, HIDDEN_AS_A_WHOLE.format(", ".join(map(repr, whole))))
            self._kept = tuple(sorted(fitted))
        return self._kept

    def _require_own_directory(self) -> None:
        """Commands could move a directory that contains ours, and read or write everything if they work in ours.

        `.robota` at the top of the workspace, as in a home directory, cannot be moved.
        """
        if self._user_directory is None:
            return
        own, root = Path(os.path.realpath(self._user_directory)), Path(os.path.realpath(self._held_root.path))
        if root.is_relative_to(own) or (own.is_relative_to(root) and own != root / ".robota"):
            raise CommandNotStarted(NOT_OUTSIDE.format(str(own), str(root)))

    def _new_private_tmp(self) -> "PrivateTmp":
        from robota.workspace.sandbox.private_tmp import PrivateTmp, private_tmp_parents

        try:
            return PrivateTmp(private_tmp_parents(self._held_root.path, self._user_directory))
        except OSError as error:
            raise CommandNotStarted(NO_TEMPORARY.format(error)) from error

    def _take_over_abandoned_git_data(self) -> None:
        if self._has_taken_over:
            return
        self._has_taken_over = True
        from robota.workspace.git.abandoned_copies import take_over_abandoned
        from robota.workspace.git.git_directories import find_git_directories

        directories = find_git_directories(self._held_root.path)
        if directories is not None and self._user_directory is not None:
            for message in take_over_abandoned(directories, self._user_directory):
                self._on_left_over(message)

    def _joined_backend(self) -> "SandboxBackend":
        """The sandbox in the network that commands of this session share; without sharing if that fails."""
        if self._joined is None:
            self._joined = self.backend
            if self.backend.kind == "bubblewrap" and not self._network:
                self._joined = self._in_session_network(self.backend)
        return self._joined

    def _in_session_network(self, backend: "SandboxBackend") -> "SandboxBackend":
        # Imported only if something runs in the background.
        from robota.workspace.sandbox.backend import probe
        from robota.workspace.sandbox.port_forwarding import PortForwarding
        from robota.workspace.sandbox.session_network import SessionNetwork

        try:
            network = SessionNetwork(self._held_root.path)
        except OSError:
            return backend
        joined = msgspec.structs.replace(backend, network=network.joined)
        if probe(joined) is not None:
            network.close()
            return backend
        self._session_network = network
        self._ports = PortForwarding(network, self._ports_of_robota)
        return joined

    def _ports_of_robota(self) -> frozenset[int]:
        return frozenset() if self._gateway is None else frozenset(self._gateway.ports)

    def _server_ports(self) -> "ServerPorts | None":
        """The servers of the session, for a command that is not in the session's network."""
        if self._ports is None:
            return None
        from robota.workspace.sandbox.egress.gateway import ServerPorts

        return ServerPorts(numbers=self._ports.listening_now(), serve=self._ports.serve)

    def _egress_gateway(self, more_hosts: Sequence[str]) -> "EgressGateway":
        # Imported only if there is such a list.
        from robota.workspace.sandbox.egress.allow_list import AllowList
        from robota.workspace.sandbox.egress.gateway import EgressGateway

        if more_hosts:
            return EgressGateway(AllowList((*self._allowed_hosts, *more_hosts)), on_reached=self._on_reached)
        if self._gateway is None:
            self._gateway = EgressGateway(AllowList(self._allowed_hosts), on_reached=self._on_reached)
        return self._gateway
