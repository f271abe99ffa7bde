"""What the engine uses of skills, prompt commands and instruction files."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Protocol

import msgspec

from robota.contracts.tool import ToolResult
from robota.protocol.slash_commands import SlashCommandInfo

# The elements of the system prompt that hold one file each: what is followed, and what is only quoted.
INSTRUCTION_TAG: Final = "instructions"
QUOTED_TAG: Final = "repository_text"

CallTool = Callable[[str, dict[str, Any]], Awaitable[ToolResult]]
"""Runs a call like one of the model's: judged, asked about, logged. Raises `PromptNotSent` if it was not allowed."""


class PromptNotSent(Exception):
    """A prompt cannot become what it stands for. The text says why, for a person."""


class SubtaskWanted(msgspec.Struct, frozen=True, kw_only=True):
    """The prompt is to be followed in a task of its own, perhaps by another model and within fewer requests."""

    model: str | None = None
    max_requests: int | None = None


class ExpandedPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """What the model is told instead of what was typed. `rules` are granted until the person is next."""

    text: str
    rules: tuple[str, ...] = ()
    subtask: SubtaskWanted | None = None


class KnowledgeService(Protocol):
    """Skills and prompt commands of the session."""

    @property
    def prompt_section(self) -> str:
        """What the system prompt says of skills; empty if there are none for the model."""
        ...

    def commands(self) -> Sequence[SlashCommandInfo]:
        """What a person can type behind a slash, as it is now."""
        ...

    async def expand(self, prompt: str, call: CallTool) -> ExpandedPrompt | None:
        """What a prompt stands for that begins with the name of a skill or command; None if it is plain words."""
        ...

    async def skill(self, name: str, arguments: str, call: CallTool) -> ExpandedPrompt:
        """The instructions of a skill that the model wants to follow. Raises `PromptNotSent` if there is no such."""
        ...


class InstructionService(Protocol):
    """Instruction files and rules of the session."""

    def prompt_section(self, mode: str) -> str:
        """What the system prompt says of them in a task mode, the same each time; empty if there are none."""
        ...
