"""The walls around the commands of one session: chosen when the first command needs them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from robota.workspace.sandbox.probe import find_sandbox
from robota.workspace.sandbox.profile import workspace_profile
from robota.workspace.sandbox.sandbox import Kind, Sandbox
from robota.workspace.sandbox.temporary import Temporary
from robota.workspace.sandbox.wrapped_command import Wrapped, unwrapped

if TYPE_CHECKING:
    from robota.workspace.sandbox.egress.gateway import WaysOut


class CommandSandbox:
    """Finds out once which sandbox works, and keeps the directory that commands see as /tmp."""

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
        self._ways_out: WaysOut | None = None
        self._sandbox: Sandbox | None = None
        self._temporary: Temporary | None = None

    @property
    def sandbox(self) -> Sandbox:
        if self._sandbox is None:
            self._temporary = Temporary()
            profile = workspace_profile(
                self._root, self._temporary.path, home=self._home, secrets=self._secrets, network=self._network
            )
            self._sandbox = find_sandbox(profile)
        return self._sandbox

    @property
    def is_real(self) -> bool:
        return self.sandbox.kind is not Kind.NONE

    def wrap(self, command: Sequence[str], cwd: Path) -> Wrapped:
        if self.sandbox.kind is Kind.NONE:
            return unwrapped(command, cwd)
        if self._allowed_hosts and self.sandbox.kind is Kind.BUBBLEWRAP:
            return self._wrap_with_way_out(command, cwd)
        return self.sandbox.wrap(command, cwd)

    def close(self) -> None:
        if self._temporary is not None:
            self._temporary.remove()
            self._temporary = None
            self._sandbox = None

    def _wrap_with_way_out(self, command: Sequence[str], cwd: Path) -> Wrapped:
        # Only for those who have such a list.
        from robota.workspace.sandbox.egress.allow_list import AllowList
        from robota.workspace.sandbox.egress.gateway import WaysOut

        if self._ways_out is None:
            self._ways_out = WaysOut(AllowList(self._allowed_hosts))
        return self._ways_out.wrap(self.sandbox, command, cwd)
