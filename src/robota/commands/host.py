"""What slash commands are given besides their session: where it works, and what only the program around it can do."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from robota.config.settings.load import Settings
from robota.engine.runtime.options import Options
from robota.engine.runtime.services import SessionServices
from robota.policy.rules.sources import RuleSet
from robota.protocol.views import View

if TYPE_CHECKING:
    from robota.commands.intent_upkeep import IntentUpkeep
    from robota.commands.memory_actions import MemoryActions
    from robota.extensions.plugins.active import ActivePlugin
    from robota.knowledge.output_styles import OutputStyle


class ExportRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A session to be written to a file; without a path one is made up in the directory the session works in."""

    format: str
    path: str = ""


class ProgramActions(msgspec.Struct, frozen=True, kw_only=True):
    """What the program does for commands. `export` raises `ConfigError` or `LogError` with words for a person.

    `try_provider` asks the server of a profile, and raises `ConfigError` or `ProviderFault` if it does not answer.
    """

    export: Callable[[ExportRequest], Awaitable[str]]
    examine: Callable[[], Awaitable[View]]
    try_provider: Callable[[str], Awaitable[str]]
    memory: "Callable[[], MemoryActions]"
    intents: "Callable[[], IntentUpkeep]"


class CommandHost(msgspec.Struct, frozen=True, kw_only=True):
    """The place of a session: its settings, its services, and the project that keeps its log."""

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
