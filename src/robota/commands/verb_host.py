"""What a verb can use, in a shell and in a conversation."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from robota.commands.builtin.intents import IntentAccess
    from robota.commands.builtin.memory import MemoryAccess
    from robota.commands.rewind_target import RewindTarget
    from robota.config.settings.load import Settings
    from robota.contracts.hook import LifecycleHooks
    from robota.protocol.slash_commands import RewindShown


class VerbHost(Protocol):
    """The workspace, its settings, and the services of families, which are built when a verb asks for them.

    All of it may raise `ConfigError`.
    """

    @property
    def root(self) -> Path:
        """The top directory of the workspace."""
        ...

    @property
    def kept_in(self) -> Path:
        """The project that the workspace belongs to; a worktree belongs to the one it was made from."""
        ...

    @property
    def session_id(self) -> str | None:
        """The session of the conversation; None in a shell."""
        ...

    @property
    def settings(self) -> "Settings": ...

    @property
    def env(self) -> Mapping[str, str]: ...

    @property
    def wants_all(self) -> bool:
        """Whether an answer is read by a program or shown page by page, so that a long one need not be cut."""
        ...

    def ask(self, about: "str | RewindShown", question: str = "", *, default: bool) -> bool | None:
        """Show `about` and ask the user; None if nobody can be asked. The question about a rewind follows from it."""
        ...

    def rewinding(self, session: str | None, *, is_written: bool) -> "AbstractContextManager[RewindTarget]":
        """A session to look at or, with `is_written`, to rewind. In a conversation, it is always its own."""
        ...

    def lifecycle_hooks(self) -> "AbstractAsyncContextManager[LifecycleHooks | None]":
        """The user's hooks for events other than calls; None if there are none."""
        ...

    def memory(self) -> "MemoryAccess": ...

    def intents(self, approved: Sequence[str] = ()) -> "IntentAccess":
        """The intents. In a shell, their criteria in `approved` run without asking."""
        ...
