"""What the editor is told while the agent works: the kinds of `session/update`."""

from typing import Any

import msgspec

from robota.clients.acp.content import AcpValue, ContentBlock, TextContent


class ShownContent(AcpValue, frozen=True, kw_only=True, tag_field="type", tag="content"):
    """Content of a call."""

    content: ContentBlock


class ShownDiff(AcpValue, frozen=True, kw_only=True, tag_field="type", tag="diff"):
    """A changed part of a file; `path` is absolute. Without `old_text` the file is new."""

    path: str
    old_text: str | None = None
    new_text: str


class ShownTerminal(AcpValue, frozen=True, kw_only=True, tag_field="type", tag="terminal"):
    """A terminal of the editor."""

    terminal_id: str


CallContent = ShownContent | ShownDiff | ShownTerminal


class CallLocation(AcpValue, frozen=True, kw_only=True):
    """A file that a call reads or changes."""

    path: str
    line: int | None = None


class SessionUpdate(AcpValue, frozen=True, kw_only=True, tag_field="sessionUpdate"):
    """The base of all updates."""


class UserChunk(SessionUpdate, frozen=True, kw_only=True, tag="user_message_chunk"):
    """A prompt, when a session is loaded or another window sent it."""

    content: ContentBlock


class AgentChunk(SessionUpdate, frozen=True, kw_only=True, tag="agent_message_chunk"):
    """More of the answer."""

    content: ContentBlock


class ThoughtChunk(SessionUpdate, frozen=True, kw_only=True, tag="agent_thought_chunk"):
    """More of what the model thinks."""

    content: ContentBlock


class CallAnnounced(SessionUpdate, frozen=True, kw_only=True, tag="tool_call"):
    """A call. Every editor needs this before it hears anything else of the call."""

    tool_call_id: str
    title: str
    kind: str = msgspec.field(default_factory=lambda: "other")
    status: str = msgspec.field(default_factory=lambda: "pending")
    content: tuple[CallContent, ...] = ()
    locations: tuple[CallLocation, ...] = ()
    raw_input: dict[str, Any] | None = None


class CallProgress(SessionUpdate, frozen=True, kw_only=True, tag="tool_call_update"):
    """What is new about a call; content replaces what was there."""

    tool_call_id: str
    title: str | None = None
    kind: str | None = None
    status: str | None = None
    content: tuple[CallContent, ...] | None = None
    locations: tuple[CallLocation, ...] | None = None
    raw_input: dict[str, Any] | None = None


class ShownStep(AcpValue, frozen=True, kw_only=True):
    """A line of the plan."""

    content: str
    status: str
    priority: str = msgspec.field(default_factory=lambda: "medium")


class PlanShown(SessionUpdate, frozen=True, kw_only=True, tag="plan"):
    """The whole plan."""

    entries: tuple[ShownStep, ...]


class CommandInput(AcpValue, frozen=True, kw_only=True):
    """What may follow the name of a command."""

    hint: str


class AvailableCommand(AcpValue, frozen=True, kw_only=True):
    """A slash command."""

    name: str
    description: str
    input: CommandInput | None = None


class CommandsShown(SessionUpdate, frozen=True, kw_only=True, tag="available_commands_update"):
    """All slash commands."""

    available_commands: tuple[AvailableCommand, ...]


class ModeShown(SessionUpdate, frozen=True, kw_only=True, tag="current_mode_update"):
    """The permission mode is another one now."""

    current_mode_id: str


class OptionsShown(SessionUpdate, frozen=True, kw_only=True, tag="config_option_update"):
    """All options with their values."""

    config_options: tuple[Any, ...]


class SessionInfoShown(SessionUpdate, frozen=True, kw_only=True, tag="session_info_update"):
    """The title of the session."""

    title: str


class SessionCost(AcpValue, frozen=True, kw_only=True):
    """What the session has cost."""

    amount: float
    currency: str = msgspec.field(default_factory=lambda: "USD")


class UsageShown(SessionUpdate, frozen=True, kw_only=True, tag="usage_update"):
    """How full the context window is."""

    used: int
    size: int
    cost: SessionCost | None = None


KnownUpdate = (
    UserChunk
    | AgentChunk
    | ThoughtChunk
    | CallAnnounced
    | CallProgress
    | PlanShown
    | CommandsShown
    | ModeShown
    | OptionsShown
    | SessionInfoShown
    | UsageShown
)


def said(text: str) -> AgentChunk:
    """A piece of the answer."""
    return AgentChunk(content=TextContent(text=text))


def thought(text: str) -> ThoughtChunk:
    """A piece of reasoning."""
    return ThoughtChunk(content=TextContent(text=text))


def prompted(text: str) -> UserChunk:
    """A prompt."""
    return UserChunk(content=TextContent(text=text))


def announced(call: CallProgress) -> CallAnnounced:
    """The first update about a call."""
    return CallAnnounced(
        tool_call_id=call.tool_call_id,
        title=call.title or "",
        kind=call.kind or "other",
        status=call.status or "pending",
        content=call.content or (),
        locations=call.locations or (),
        raw_input=call.raw_input,
    )
