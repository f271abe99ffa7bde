"""The options of print mode."""

from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from robota.protocol.asks.answer import Answer
from robota.protocol.message import Message
from robota.protocol.slash_commands import SlashCommandInfo
from robota.version import VERSION


class OutputFormat(StrEnum):
    """What print mode writes to standard output."""

    TEXT = "text"
    JSON = "json"
    STREAM_JSON = "stream-json"
    MESSAGES = "messages"
    CODEX = "codex"


class ShownCall(msgspec.Struct, frozen=True, kw_only=True):
    """The tool and the arguments of a call, as they are printed."""

    tool: str
    input: dict[str, Any]


class ShownAgent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An agent that the session can start."""

    name: str
    description: str = msgspec.field(default_factory=str)
    model: str | None = None


# Translates the name of a tool and the arguments of a call to those that are printed.
ShowCall = Callable[[str, dict[str, Any]], ShownCall]


def own_names(tool: str, arguments: dict[str, Any]) -> ShownCall:
    """A `ShowCall` that prints them as they are."""
    return ShownCall(tool=tool, input=arguments)


# Returns the answer to print, and the problem with it, or None.
CheckAnswer = Callable[[str], tuple[str, str | None]]


# Answers a request for approval or a question of a task; None leaves it open, which ends the run.
AnswerAsk = Callable[[Message, str], Awaitable[Answer | None]]


class HeadlessOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`cancel_grace_s` is the time that a cancelled task has to end before the result is printed without it.

    With `check`, an invalid answer is sent back to the model once, with the problem.
    `until_saved` waits until the session is on disk, and returns why something is missing.
    `commands` and `agents` return those of the session, for the formats that list them.
    `show_call` gives the names under which tools and arguments are printed as JSON.
    With `answer`, somebody answers approvals and questions while the task runs. With `leaves_asks`, a request for
    approval ends the run and can be answered later. Otherwise it is rejected.
    `agent_version` is what programs written for Claude Code read as its version.
    """

    output_format: OutputFormat = OutputFormat.TEXT
    include_partial_messages: bool = False
    verbose: bool = False
    quiet: bool = False
    check: CheckAnswer | None = None
    until_saved: Callable[[], Awaitable[str | None]] | None = None
    images: tuple[str, ...] = ()
    cancel_grace_s: float = 10.0
    leaves_asks: bool = False
    commands: Callable[[], Sequence[SlashCommandInfo]] = tuple
    agents: Callable[[], Sequence[ShownAgent]] = tuple
    show_call: ShowCall = own_names
    answer: AnswerAsk | None = None
    agent_version: str = f"robota {VERSION}"
