"""The options that a session is started with."""

from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from robota.config.settings.schema import Completion
from robota.log.kinds.session import SessionHeader
from robota.protocol.events import SessionState, UsedPlugin
from robota.protocol.permission_mode import PermissionMode
from robota.version import VERSION

MISTAKE_LIMIT: Final = 3
DEFAULT_MODE: Final = "code"
AUTO_COMPACT_THRESHOLD: Final = 0.835


class ToolFormat(StrEnum):
    NATIVE = "native"
    XML = "xml"


class EnvironmentOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Which environment details the model gets: how many files at most, the time, the cost."""

    workspace_files: int = 200
    git_status_files: int = 0
    time: bool = True
    cost: bool = True


class StyleOptions(msgspec.Struct, frozen=True, kw_only=True):
    """An output style: how the model answers. Without `keeps_coding` it replaces the coding instructions."""

    name: str
    text: str
    keeps_coding: bool = False


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The choices with which a session is started."""

    session_id: str
    cwd: Path
    model: str
    fallback_models: tuple[str, ...] = ()
    provider_name: str = ""
    name: str | None = None
    mode: str = DEFAULT_MODE
    permission_mode: PermissionMode = PermissionMode.DEFAULT
    may_bypass: bool = True  # whether the mode bypassPermissions can be chosen at all
    completion: Completion = Completion.IMPLICIT
    tool_format: ToolFormat = ToolFormat.NATIVE
    max_requests: int | None = None
    own_requests: int | None = None  # of a subtask, which then ends with its last words; its parent goes on
    max_cost: float | None = None  # US dollars
    mistake_limit: int = MISTAKE_LIMIT
    auto_compact_threshold: float | None = AUTO_COMPACT_THRESHOLD  # share of the window; None: never
    system_prompt: str | None = None
    append_system_prompt: str | None = None
    style: StyleOptions | None = None
    plugins: tuple[UsedPlugin, ...] = ()
    environment: EnvironmentOptions | None = None  # None: nothing
    title_by_model: bool = False  # whether a new session is given a title by a request of its own
    attended: bool = True  # whether somebody can answer an ask


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
    )
