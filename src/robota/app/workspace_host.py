"""What verbs can use in a shell: a workspace without a session."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from robota.config.launch_options import LaunchOptions, settings_for, workspace_root

if TYPE_CHECKING:
    from robota.commands.builtin.intents import IntentAccess
    from robota.commands.builtin.memory import MemoryAccess
    from robota.config.settings.load import Settings
    from robota.contracts.hook import LifecycleHooks


class WorkspaceHost:
    """The workspace of a sub-command of `robota`."""

    def __init__(self, launch: LaunchOptions, env: Mapping[str, str]) -> None:
        self._launch = launch
        self.cwd = launch.cwd
        self.env = env

    @cached_property
    def root(self) -> Path:
        return workspace_root(self._launch.cwd)

    @property
    def kept_in(self) -> Path:
        return self.root

    @cached_property
    def settings(self) -> "Settings":
        return settings_for(self._launch, self.root, self.env)

    @asynccontextmanager
    async def lifecycle_hooks(self) -> "AsyncIterator[LifecycleHooks | None]":
        from robota.app.hooks import workspace_hooks

        hooks = workspace_hooks(self.root, self.env)
        try:
            yield hooks
        finally:
            if hooks is not None:
                await hooks.close()

    def memory(self) -> "MemoryAccess":
        from robota.app.knowledge.memory_access import workspace_memory

        return workspace_memory(self._launch, self.env)

    def intents(self, approved: Sequence[str] = ()) -> "IntentAccess":
        from robota.app.intent_access import workspace_intents

        return workspace_intents(self._launch, self.env, approved=approved)
