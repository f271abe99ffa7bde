"""The sandbox of a session, detected when the first command needs it: detecting takes longer than a start."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from robota.workspace.process.wrapped_command import NO_MORE_ACCESS, SandboxAccess, WrappedCommand, unwrapped

if TYPE_CHECKING:
    from robota.workspace.sandbox.backend import SandboxBackend
    from robota.workspace.sandbox.egress.gateway import EgressGateway
    from robota.workspace.sandbox.private_tmp import PrivateTmp


class SessionSandbox:
    """Puts the commands of one session into the best sandbox that works here, all with the same private /tmp."""

    def __init__(
        self,
        root: Path,
        *,
        home: Path | None,
        secrets: Sequence[Path] = (),
        network: bool = False,
        allowed_hosts: Sequence[str] = (),
    ) -> None:
        """`allowed_hosts` narrows `network`: where the list cannot be enforced, there is no network at all."""
        self._root = root
        self._home = home
        self._secrets = tuple(secrets)
        self._network = network and not allowed_hosts
        self._allowed_hosts = tuple(allowed_hosts)
        self._gateway: EgressGateway | None = None
        self._backend: SandboxBackend | None = None
        self._private_tmp: PrivateTmp | None = None
        self._on_detected: Callable[[str, str], None] = lambda kind, reason: None

    @property
    def backend(self) -> "SandboxBackend":
        """The sandbox that works here. The first look runs a program in it."""
        if self._backend is None:
            from robota.workspace.sandbox.backend import detect_backend
            from robota.workspace.sandbox.private_tmp import PrivateTmp
            from robota.workspace.sandbox.profile import workspace_profile

            self._private_tmp = PrivateTmp()
            profile = workspace_profile(
                self._root, self._private_tmp.path, home=self._home, secrets=self._secrets, network=self._network
            )
            self._backend = detect_backend(profile)
            self._take_over_abandoned_git_data()
            self._on_detected(self._backend.kind, self._backend.reason)
        return self._backend

    def works(self) -> bool:
        """Whether a sandbox works on this machine."""
        return self.backend.kind != "none"

    def on_detected(self, tell: Callable[[str, str], None]) -> None:
        """Call `tell` with the kind of sandbox, and why it is no better one, as soon as that is known."""
        self._on_detected = tell

    def wrap(self, command: Sequence[str], cwd: Path, access: SandboxAccess = NO_MORE_ACCESS) -> WrappedCommand:
        """The command inside the sandbox; as it is where none works."""
        if not self.works():
            return unwrapped(command, cwd)
        if self._allowed_hosts and self.backend.kind == "bubblewrap":
            return self._wrap_with_egress(command, cwd, access)
        return self.backend.wrap(command, cwd, access)

    def close(self) -> None:
        """Remove the private /tmp. Doing it twice does nothing."""
        if self._private_tmp is not None:
            self._private_tmp.remove()
            self._private_tmp = None
            self._backend = None

    def _take_over_abandoned_git_data(self) -> None:
        from robota.workspace.git.abandoned_copies import take_over_abandoned
        from robota.workspace.git.git_directories import find_git_directories

        directories = find_git_directories(self._root)
        if directories is not None:
            take_over_abandoned(directories)

    def _wrap_with_egress(self, command: Sequence[str], cwd: Path, access: SandboxAccess) -> WrappedCommand:
        # Only for those who have such a list.
        from robota.workspace.sandbox.egress.allow_list import AllowList
        from robota.workspace.sandbox.egress.gateway import EgressGateway

        if self._gateway is None:
            self._gateway = EgressGateway(AllowList(self._allowed_hosts))
        return self._gateway.wrap(self.backend, command, cwd, access)
