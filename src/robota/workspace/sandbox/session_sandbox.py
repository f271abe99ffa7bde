"""The walls of a session, put up when the first command needs them: most sessions start faster than a probe takes."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from robota.workspace.sandbox.wrapped_command import Wrapped

if TYPE_CHECKING:
    from robota.workspace.sandbox.command_sandbox import CommandSandbox


class SessionSandbox:
    """Where commands of a workspace run."""

    def __init__(
        self,
        root: Path,
        *,
        home: Path | None,
        secrets: Sequence[Path],
        network: bool,
        allowed_hosts: Sequence[str] = (),
    ) -> None:
        self._root = root
        self._home = home
        self._secrets = tuple(secrets)
        self._network = network
        self._allowed_hosts = tuple(allowed_hosts)
        self._built: CommandSandbox | None = None
        self._tell: Callable[[str, str], None] = lambda kind, reason: None

    @property
    def works(self) -> bool:
        """Whether a sandbox works on this machine."""
        return self._commands().is_real

    def when_found(self, tell: Callable[[str, str], None]) -> None:
        """Call this with the kind of sandbox, and why it is no better one, as soon as that is known."""
        self._tell = tell

    def wrap(self, command: Sequence[str], cwd: Path) -> Wrapped:
        return self._commands().wrap(command, cwd)

    def close(self) -> None:
        if self._built is not None:
            self._built.close()

    def _commands(self) -> "CommandSandbox":
        if self._built is None:
            from robota.workspace.sandbox.command_sandbox import CommandSandbox

            self._built = CommandSandbox(
                self._root,
                home=self._home,
                secrets=self._secrets,
                network=self._network,
                allowed_hosts=self._allowed_hosts,
            )
            self._tell(self._built.sandbox.kind, self._built.sandbox.reason)
        return self._built
