"""What slash commands can use: their session, and what it is made of."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from robota.app.provider import NO_MODEL
from robota.app.session import OpenSession
from robota.commands.verb_host import Progress
from robota.config.errors import ConfigError
from robota.config.launch_options import LaunchOptions
from robota.config.settings.load import Settings
from robota.engine.runtime.options import Options
from robota.engine.runtime.services import SessionServices

if TYPE_CHECKING:
    from robota.commands.command import SlashCommand
    from robota.engine.session.session import Session
    from robota.protocol.slash_commands import RewindShown


class CommandHost(msgspec.Struct, frozen=True, kw_only=True):
    """The session of a conversation: the host of its verbs and other commands. Notices are collected in `notices`."""

    opened: OpenSession
    env: Mapping[str, str]
    all_commands: "Callable[[], Sequence[SlashCommand]]" = tuple
    notices: list[str] = []

    @property
    def session(self) -> "Session":
        return self.opened.session

    @property
    def options(self) -> Options:
        return self.opened.options

    @property
    def services(self) -> SessionServices:
        return self.opened.services

    @property
    def settings(self) -> Settings:
        return self.opened.settings

    @property
    def has_model(self) -> bool:
        return self.options.model != NO_MODEL.model

    @property
    def launch(self) -> LaunchOptions:
        return LaunchOptions(cwd=self.cwd, kept_in=self.kept_in, permission_mode=self.options.permission_mode)

    @property
    def cwd(self) -> Path:
        return self.options.cwd

    @property
    def root(self) -> Path:
        return self.options.cwd

    @property
    def kept_in(self) -> Path:
        return self.opened.kept_in

    @property
    def wants_all(self) -> bool:
        return True

    @property
    def width(self) -> int | None:
        return None  # the client wraps what it shows

    def path(self, typed: str) -> Path:
        try:
            return self.cwd / Path(typed.replace("\0", "")).expanduser()
        except RuntimeError as error:
            raise ConfigError(f"There is no home directory for {typed}. Nothing was changed.") from error

    @property
    def can_ask(self) -> bool:
        return False  # the user is asked by what a command returns

    def say(self, text: str) -> None:
        self.notices.append(text)

    def confirm(self, question: str, *, default: bool) -> bool | None:
        return None

    def tell(self, notice: str) -> None:
        self.notices.append(notice)

    @contextmanager
    def progress(self, what: str, *logs: Path) -> Iterator[Progress]:
        yield lambda *_: None  # the client shows that the command runs

    def ask(self, about: "str | RewindShown", question: str = "", *, default: bool) -> bool | None:
        return None
