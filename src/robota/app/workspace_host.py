"""What verbs can use in a shell: a workspace without a session."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from robota.config.launch_options import LaunchOptions, settings_for, workspace_root

if TYPE_CHECKING:
    from robota.commands.builtin.memory import MemoryAccess
    from robota.config.settings.load import Settings


class WorkspaceHost:
    """The workspace of a sub-command of `robota`."""

    def __init__(self, launch: LaunchOptions, env: Mapping[str, str]) -> None:
        self._launch = launch
        self.env = env

    @cached_property
    def root(self) -> Path:
        return workspace_root(self._launch.cwd)

    @cached_property
    def settings(self) -> "Settings":
        return settings_for(self._launch, self.root, self.env)

    def memory(self) -> "MemoryAccess":
        from robota.app.knowledge.memory_access import workspace_memory

        return workspace_memory(self._launch, self.env)
