"""`SessionOptions`: how a session of a program starts."""

from pathlib import Path
from typing import Any

import msgspec

from robota.protocol.permission_mode import PermissionMode


class SessionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a session starts. Options that are not given are taken from the settings, as for `robota` itself.

    `settings` override those of files, except managed ones. If `attended` is false, nobody answers asks, so a call that
    needs approval is denied.
    """

    cwd: Path = msgspec.field(default_factory=Path.cwd)
    provider: str | None = None
    model: str | None = None
    mode: str | None = None
    permission_mode: PermissionMode | None = None
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    max_turns: int | None = None
    max_cost: float | None = None
    system_prompt: str | None = None
    append_system_prompt: str | None = None
    settings: dict[str, Any] = {}
    session_id: str | None = None
    name: str | None = None
    attended: bool = True
