"""What a verb can use, in a shell and in a conversation."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from robota.app.session import OpenSession
    from robota.config.launch_options import LaunchOptions
    from robota.config.settings.load import Settings
    from robota.protocol.slash_commands import RewindShown

# Called with the position in a log and, if it was not known before, the size of everything that is read.
Progress = Callable[..., None]


class VerbHost(Protocol):
    """The workspace, its settings, and the user. All of it may raise `ConfigError`."""

    @property
    def launch(self) -> "LaunchOptions":
        """The options of a session that runs commands for the verb."""
        ...

    @property
    def opened(self) -> "OpenSession | None":
        """The session of the conversation; None in a shell."""
        ...

    @property
    def cwd(self) -> Path:
        """The directory that the user named, which may not exist; relative paths start there."""
        ...

    @property
    def root(self) -> Path:
        """The top directory of the workspace."""
        ...

    @property
    def kept_in(self) -> Path:
        """The project that the workspace belongs to; a worktree belongs to the one it was made from."""
        ...

    @property
    def settings(self) -> "Settings": ...

    @property
    def env(self) -> Mapping[str, str]: ...

    @property
    def wants_all(self) -> bool:
        """Whether an answer is read by a program or shown page by page, so that a long one need not be cut."""
        ...

    @property
    def width(self) -> int | None:
        """The columns of the terminal; None if the answer is not printed on one."""
        ...

    def path(self, typed: str) -> Path:
        """The path of a file that the user named."""
        ...

    @property
    def can_ask(self) -> bool:
        """Whether a user can be asked now."""
        ...

    def say(self, text: str) -> None:
        """Show a part of the answer at once, before a question or while something takes long."""
        ...

    def confirm(self, question: str, *, default: bool) -> bool | None:
        """Ask a user who `can_ask`; None if the user does not decide."""
        ...

    def tell(self, notice: str) -> None:
        """Tell the user something besides the answer."""
        ...

    def progress(self, what: str, *logs: Path) -> AbstractContextManager[Progress]:
        """Show how far reading long logs is."""
        ...

    def ask(self, about: "str | RewindShown", question: str = "", *, default: bool) -> bool | None:
        """Show `about` and ask the user; None if nobody can be asked. The question about a rewind follows from it."""
        ...
