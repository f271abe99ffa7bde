"""What a verb can use, in a shell and in a conversation."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from robota.commands.builtin.memory import MemoryAccess
    from robota.config.settings.load import Settings


class VerbHost(Protocol):
    """The workspace, its settings, and the services of families, which are built when a verb asks for them.

    All of it may raise `ConfigError`.
    """

    @property
    def root(self) -> Path:
        """The top directory of the workspace."""
        ...

    @property
    def settings(self) -> "Settings": ...

    @property
    def env(self) -> Mapping[str, str]: ...

    def memory(self) -> "MemoryAccess": ...
