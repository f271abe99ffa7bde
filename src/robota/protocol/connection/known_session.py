"""The sessions that a client can reach: what a list of them shows, how a new one starts, what they ask."""

from collections.abc import Mapping
from typing import Any

import msgspec

from robota.protocol.message import Message
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.state import AgentStateInfo
from robota.protocol.wire import Value


class SessionStart(Value, frozen=True, kw_only=True):
    """How a new session starts. Defaults come from the settings of the user and the workspace."""

    cwd: str
    session_id: str | None = None
    name: str | None = None
    provider: str | None = None
    model: str | None = None
    mode: str | None = None
    permission_mode: PermissionMode | None = None
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    max_turns: int | None = None
    max_cost: float | None = None
    add_dir: tuple[str, ...] = ()  # further directories that the agent may read
    mcp_servers: Mapping[str, Any] = msgspec.field(default_factory=dict)  # as in the settings


class SessionProcess(Value, frozen=True, kw_only=True):
    """The process that runs a session. `is_here`: it is the one of the host that lists it."""

    pid: int
    since_ms: int
    version: str
    is_here: bool = False


class KnownSession(Value, frozen=True, kw_only=True):
    """A session, running or stored.

    `process` is absent if it does not run. `state` and `ask` are what it does and what it waits for; those of a stored
    session are read from its log only by `inbox`. `is_own` is false for a log that was not written on this machine.
    """

    session_id: str
    cwd: str
    title: str
    name: str | None = None
    model: str = ""
    modified_ms: int = 0
    cost: float | None = None
    is_own: bool = True
    process: SessionProcess | None = None
    state: AgentStateInfo | None = None
    ask: Message | None = None


class SessionAsk(Value, frozen=True, kw_only=True):
    """A question to the user, and the session that asks it."""

    session: KnownSession
    ask: Message
