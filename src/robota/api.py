"""The public interface: what programs that embed Robota may import. Everything else may change without notice.

`docs/api.md` explains it, and `docs/reference/api.md` lists it. A client in another process needs only the protocol, so
what runs a session is imported when one is opened.
"""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from robota.config.errors import ConfigError
from robota.log.errors import LogError
from robota.protocol.asks.answer import Answer, Approve, ApproveEdited, Reject, Say
from robota.protocol.asks.ask import (
    ApprovalAsk,
    Ask,
    CompletionAsk,
    FailureAsk,
    LimitAsk,
    MistakesAsk,
    QuestionAsk,
    ResumeAsk,
)
from robota.protocol.asks.seed import ask_of
from robota.protocol.codec import ProtocolError, decode_command, decode_event, decode_message, encode
from robota.protocol.commands import (
    Accepted,
    AskResponse,
    CancelTask,
    ClearTask,
    Command,
    NewTask,
    QueueMessage,
    Receipt,
    Refused,
    UnknownCommand,
)
from robota.protocol.events import (
    Event,
    MessageCreated,
    MessageUpdated,
    Notice,
    State,
    SubscriptionEnded,
    TaskCompleted,
    TaskEnded,
    TextDelta,
    ToolEnd,
    ToolStart,
)
from robota.protocol.message import Message
from robota.protocol.permission_mode import PermissionMode
from robota.protocol.port import SessionPort
from robota.protocol.state import AgentState, AgentStateInfo, StateTracker, detect_agent_state
from robota.version import VERSION

__all__ = [
    "VERSION",
    "Accepted",
    "AgentState",
    "AgentStateInfo",
    "Answer",
    "ApprovalAsk",
    "Approve",
    "ApproveEdited",
    "Ask",
    "AskResponse",
    "CancelTask",
    "ClearTask",
    "Command",
    "CompletionAsk",
    "ConfigError",
    "Event",
    "FailureAsk",
    "LimitAsk",
    "LogError",
    "Message",
    "MessageCreated",
    "MessageUpdated",
    "MistakesAsk",
    "NewTask",
    "Notice",
    "PermissionMode",
    "ProtocolError",
    "QuestionAsk",
    "QueueMessage",
    "Receipt",
    "Refused",
    "Reject",
    "ResumeAsk",
    "Say",
    "SessionOptions",
    "SessionPort",
    "State",
    "StateTracker",
    "SubscriptionEnded",
    "TaskCompleted",
    "TaskEnded",
    "TextDelta",
    "ToolEnd",
    "ToolStart",
    "UnknownCommand",
    "ask_of",
    "decode_command",
    "decode_event",
    "decode_message",
    "detect_agent_state",
    "encode",
    "open_session",
]


class SessionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a session starts. What is not given comes from the settings, as for `robota` itself.

    If `attended` is false, nobody answers asks: a call that needs approval is denied.
    """

    cwd: Path
    provider: str | None = None
    model: str | None = None
    permission_mode: PermissionMode | None = None
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    max_turns: int | None = None
    max_cost: float | None = None
    append_system_prompt: str | None = None
    settings: dict[str, Any] = {}  # they override those of files, except managed ones
    name: str | None = None
    attended: bool = True


@asynccontextmanager
async def open_session(options: SessionOptions, env: Mapping[str, str] | None = None) -> AsyncIterator[SessionPort]:
    """A new session in this process, closed at the end. Raises `ConfigError` or `LogError` before anything happened.

    `env` replaces the environment variables of the process. Notices about the start go to the logger `robota`.
    """
    from robota.app.session import open_session as opened_session
    from robota.config.launch_options import LaunchOptions

    opened = opened_session(LaunchOptions(**msgspec.structs.asdict(options)), os.environ if env is None else env)
    try:
        if opened.notices:
            from logging import getLogger

            for notice in opened.notices:
                getLogger("robota").warning("%s", notice)
        yield opened.session
    finally:
        await opened.close()
