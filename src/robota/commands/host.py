"""What slash commands need besides their session: its settings and services, and actions of the program."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from robota.config.settings.load import Settings
from robota.engine.runtime.options import Options
from robota.engine.runtime.services import SessionServices
from robota.policy.rules.sources import RuleSet
from robota.protocol.views import View

if TYPE_CHECKING:
    from robota.commands.builtin.intents import IntentAccess
    from robota.commands.builtin.memory import MemoryAccess
    from robota.commands.command import SlashCommand
    from robota.commands.rewind_target import RewindTarget
    from robota.contracts.hook import LifecycleHooks
    from robota.engine.session.session import Session
    from robota.extensions.plugins.active import ActivePlugin
    from robota.knowledge.output_styles import OutputStyle
    from robota.protocol.slash_commands import RewindShown


class ExportRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to export the session; without a path, a file in its working directory is chosen."""

    format: str
    path: str = ""


class ProgramActions(msgspec.Struct, frozen=True, kw_only=True):
    """Actions of the program for commands. `export` raises `ConfigError` or `LogError`.

    `examine` runs the checks of `robota doctor`. `try_provider` contacts the server of a profile, and raises
    `ConfigError` or `ProviderFault` if it does not answer.
    """

    export: Callable[[ExportRequest], Awaitable[str]]
    examine: Callable[[], Awaitable[View]]
    try_provider: Callable[[str], Awaitable[str]]
    memory: "Callable[[], MemoryAccess]"
    intents: "Callable[[], IntentAccess]"


class CommandHost(msgspec.Struct, frozen=True, kw_only=True):
    """A session with its settings and services: what verbs and other commands can use in a conversation.

    `kept_in` is the project that holds its log.
    """

    session: "Session"
    all_commands: "Callable[[], Sequence[SlashCommand]]"
    options: Options
    has_model: bool
    settings: Settings
    services: SessionServices
    rules: RuleSet
    kept_in: Path
    env: Mapping[str, str]
    program: ProgramActions
    plugins: "tuple[ActivePlugin, ...]" = ()
    styles: "Callable[[], Sequence[OutputStyle]]" = tuple

    @property
    def root(self) -> Path:
        return self.options.cwd

    @property
    def session_id(self) -> str:
        return self.options.session_id

    @property
    def wants_all(self) -> bool:
        return True

    def ask(self, about: "str | RewindShown", question: str = "", *, default: bool) -> bool | None:
        return None  # the user is asked by what a command returns

    def rewinding(self, session: str | None, *, is_written: bool) -> "AbstractContextManager[RewindTarget]":
        from robota.commands.rewind_target import OpenSessionRewind, RewindTarget

        service = OpenSessionRewind(self.session.rewind)
        return nullcontext(RewindTarget(session_id=self.session_id, service=service))

    def lifecycle_hooks(self) -> "AbstractAsyncContextManager[LifecycleHooks | None]":
        return nullcontext(self.services.hooks.lifecycle)  # the session closes them

    def memory(self) -> "MemoryAccess":
        return self.program.memory()

    def intents(self, approved: Sequence[str] = ()) -> "IntentAccess":
        return self.program.intents()
