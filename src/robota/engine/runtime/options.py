"""The options that a session is started with."""

from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from robota.config.launch_options import LaunchOptions
from robota.config.settings.schema import Completion, SettingsFile
from robota.contracts.agent import AgentDefinition
from robota.log.kinds.session import SessionHeader
from robota.protocol.events import SessionState, UsedPlugin
from robota.protocol.permission_mode import PermissionMode
from robota.version import VERSION

DEFAULT_MODE: Final = "code"
AUTO_COMPACT_THRESHOLD: Final = 0.835


class ToolFormat(StrEnum):
    NATIVE = "native"
    XML = "xml"


class StyleOptions(msgspec.Struct, frozen=True, kw_only=True):
    """An output style: how the model answers. Without `keeps_coding` it replaces the coding instructions."""

    name: str
    text: str
    keeps_coding: bool = False


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What a session is started with: the options of its start, the settings, and what was decided from them.

    The fields beside `launch` and `settings` are those that depend on more than one of them, on the provider profile or
    on the session itself.
    """

    launch: LaunchOptions
    settings: SettingsFile
    session_id: str
    cwd: Path
    model: str
    provider_name: str
    name: str | None
    mode: str
    permission_mode: PermissionMode
    completion: Completion
    tool_format: ToolFormat
    own_requests: int | None = None  # of a subtask, which then ends with its last reply; its parent continues
    agent: AgentDefinition | None = None  # that the session works as
    append_system_prompt: str | None = None
    style: StyleOptions | None = None
    plugins: tuple[UsedPlugin, ...] = ()

    @property
    def condense_at(self) -> float | None:
        """The fraction of the context window at which the conversation is condensed automatically; None: never."""
        setting = self.settings.auto_compact_threshold
        if setting is False:
            return None
        return AUTO_COMPACT_THRESHOLD if setting is None or setting is True else setting


def chosen_state(options: Options) -> SessionState:
    """The session state that clients see, as far as the options determine it."""
    return SessionState(
        session_id=options.session_id,
        cwd=str(options.cwd),
        model=options.model,
        mode=options.mode,
        permission_mode=options.permission_mode,
        name=options.name,
        output_style=options.style.name if options.style else None,
        plugins=options.plugins,
    )


def session_header(options: Options) -> SessionHeader:
    """The header record of the log, written again when one of these options changes."""
    return SessionHeader(
        id=options.session_id,
        cwd=str(options.cwd),
        name=options.name,
        model=options.model,
        provider=options.provider_name,
        permission_mode=options.permission_mode,
        completion=options.completion,
        version=VERSION,
        agent_of=None if options.launch.place is None else options.launch.place.session_id,
        agent_type=None if options.launch.place is None else options.launch.place.identity.definition.name,
    )
