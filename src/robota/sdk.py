"""The public interface: what programs that embed Robota may import. Everything else may change without notice.

`docs/sdk.md` explains it, and `docs/reference/sdk.md` lists it. A client of a session in another process needs only the
protocol, so what runs a session is imported when it is needed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from robota.config.errors import ConfigError
from robota.embedding.opening import attach_session, open_session, start_process
from robota.embedding.options import SessionOptions
from robota.embedding.query import query
from robota.log.errors import LogError
from robota.protocol.asks.answer import (
    Answer,
    Approve,
    ApproveEdited,
    ApproveHunks,
    ApproveInput,
    GrantScope,
    Reject,
    Say,
)
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
    RunSlashCommand,
    UnknownCommand,
)
from robota.protocol.connection.ask_dispatcher import AskDispatcher
from robota.protocol.connection.message_processor import MessageProcessor
from robota.protocol.connection.state_store import StateStore, UnansweredAsk
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

if TYPE_CHECKING:
    from robota.cli.start import start
    from robota.commands.registry import OwnCommand
    from robota.config.profiles.profile import Profile
    from robota.contracts.tool import Effect
    from robota.embedding.additions import Embedding
    from robota.embedding.function_tool import tool
    from robota.embedding.session import AgentSession, SessionEnded
    from robota.embedding.turn import TurnResult
    from robota.providers.chunks import (
        CallArgumentsChunk,
        CallStartChunk,
        FinishChunk,
        ModelRequest,
        TextChunk,
        ThinkingChunk,
        UsageChunk,
    )
    from robota.providers.definition import ModelInfo, ProviderDefinition

# Imported when they are used.
LATE: Final = {
    "robota.commands.registry": ("OwnCommand",),
    "robota.embedding.additions": ("Embedding",),
    "robota.cli.start": ("start",),
    "robota.config.profiles.profile": ("Profile",),
    "robota.contracts.tool": ("Effect",),
    "robota.providers.chunks": (
        "CallArgumentsChunk",
        "CallStartChunk",
        "FinishChunk",
        "ModelRequest",
        "TextChunk",
        "ThinkingChunk",
        "UsageChunk",
    ),
    "robota.providers.definition": ("ModelInfo", "ProviderDefinition"),
    "robota.embedding.session": ("AgentSession", "SessionEnded"),
    "robota.embedding.function_tool": ("tool",),
    "robota.embedding.turn": ("TurnResult",),
}

__all__ = [
    "VERSION",
    "Accepted",
    "AgentSession",
    "AgentState",
    "AgentStateInfo",
    "Answer",
    "ApprovalAsk",
    "Approve",
    "ApproveEdited",
    "ApproveHunks",
    "ApproveInput",
    "Ask",
    "AskDispatcher",
    "AskResponse",
    "CallArgumentsChunk",
    "CallStartChunk",
    "CancelTask",
    "ClearTask",
    "Command",
    "CompletionAsk",
    "ConfigError",
    "Effect",
    "Embedding",
    "Event",
    "FailureAsk",
    "FinishChunk",
    "GrantScope",
    "LimitAsk",
    "LogError",
    "Message",
    "MessageCreated",
    "MessageProcessor",
    "MessageUpdated",
    "MistakesAsk",
    "ModelInfo",
    "ModelRequest",
    "NewTask",
    "Notice",
    "OwnCommand",
    "PermissionMode",
    "Profile",
    "ProtocolError",
    "ProviderDefinition",
    "QuestionAsk",
    "QueueMessage",
    "Receipt",
    "Refused",
    "Reject",
    "ResumeAsk",
    "RunSlashCommand",
    "Say",
    "SessionEnded",
    "SessionOptions",
    "SessionPort",
    "State",
    "StateStore",
    "StateTracker",
    "SubscriptionEnded",
    "TaskCompleted",
    "TaskEnded",
    "TextChunk",
    "TextDelta",
    "ThinkingChunk",
    "ToolEnd",
    "ToolStart",
    "TurnResult",
    "UnansweredAsk",
    "UnknownCommand",
    "UsageChunk",
    "ask_of",
    "attach_session",
    "decode_command",
    "decode_event",
    "decode_message",
    "detect_agent_state",
    "encode",
    "open_session",
    "query",
    "start",
    "start_process",
    "tool",
]


def __getattr__(name: str) -> Any:
    for module, names in LATE.items():
        if name in names:
            # A sub-module of the same name would be found first the next time.
            return globals().setdefault(name, getattr(import_module(module), name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
