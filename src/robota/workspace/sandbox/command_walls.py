"""The walls around the commands of one session: chosen when the first command needs them."""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from robota.workspace.sandbox.probe import find_sandbox
from robota.workspace.sandbox.profile import workspace_profile
from robota.workspace.sandbox.walls import Kind, Sandbox
from robota.workspace.sandbox.wrapped import Wrapped, unwrapped


class CommandWalls:
    """Finds out once which sandbox works, and keeps the directory that commands see as /tmp."""

    def __init__(self, root: Path, *, home: Path | None, secrets: Sequence[Path] = (), network: bool = False) -> None:
        self._root = root
        self._home = home
        self._secrets = tuple(secrets)
        self._network = network
        self._sandbox: Sandbox | None = None
        self._temporary: Path | None = None

    @property
    def sandbox(self) -> Sandbox:
        if self._sandbox is None:
            self._temporary = Path(tempfile.mkdtemp(prefix="robota-tmp-"))
            profile = workspace_profile(
                self._root, self._temporary, home=self._home, secrets=self._secrets, network=self._network
            )
            self._sandbox = find_sandbox(profile)
        return self._sandbox

    @property
    def is_real(self) -> bool:
        return self.sandbox.kind is not Kind.NONE

    def wrap(self, command: Sequence[str], cwd: Path) -> Wrapped:
        if self.sandbox.kind is Kind.NONE:
            return unwrapped(command, cwd)
        return self.sandbox.wrap(command, cwd)

    def close(self) -> None:
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None
            self._sandbox = None
