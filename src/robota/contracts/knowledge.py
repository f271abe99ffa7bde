"""What the engine uses of skills, prompt commands, instruction files, memory and mentions."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from robota.contracts.tool import ToolResult
from robota.protocol.conversation import ImageSource
from robota.protocol.slash_commands import SlashCommandInfo

if TYPE_CHECKING:
    from robota.contracts.workspace import Files

# The elements of the system prompt that hold one file each: what is followed, remembered, and only quoted.
INSTRUCTION_TAG: Final = "instructions"
MEMORY_TAG: Final = "memory"
QUOTED_TAG: Final = "repository_text"

CallTool = Callable[[str, dict[str, Any]], Awaitable[ToolResult]]
"""Runs a call like one of the model's: judged, asked about, logged. Raises `PromptNotSent` if it was not allowed."""


class PromptNotSent(Exception):
    """A prompt cannot become what it stands for. The text says why, for a person."""


class PromptHalted(PromptNotSent):
    """A hook or the person wants the task to stop, so that nothing else of the prompt is tried."""


class MentionedText(msgspec.Struct, frozen=True, kw_only=True):
    """What is added to a prompt for the things it mentions, and what the person should know of it."""

    text: str = ""
    images: tuple[ImageSource, ...] = ()
    notices: tuple[str, ...] = ()


class ExpandMentions(Protocol):
    """Shows the model what a prompt mentions with `@`."""

    async def __call__(self, prompt: str, files: "Files", call: CallTool) -> MentionedText:
        """Look at it by calls like those of the model; what these may not do becomes a note."""
        ...


class SubtaskWanted(msgspec.Struct, frozen=True, kw_only=True):
    """The prompt is to be followed in a task of its own, perhaps by another model and within fewer requests."""

    model: str | None = None
    max_requests: int | None = None


class ExpandedPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """What the model is told instead of what was typed.

    `rules` are granted until the person is next, and what `denied` rules name is forbidden so long.
    `notices` are what the person should know of it. The `@` words of `mentioning` count as if they had been typed.
    """

    text: str
    mentioning: str = ""
    rules: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    subtask: SubtaskWanted | None = None
    notices: tuple[str, ...] = ()


class KnowledgeService(Protocol):
    """Skills and prompt commands of the session."""

    @property
    def is_told(self) -> bool:
        """Whether the model is told of them, and has the tool that follows one."""
        ...

    @property
    def prompt_section(self) -> str:
        """What the system prompt says of skills; empty if there are none for the model."""
        ...

    def commands(self) -> Sequence[SlashCommandInfo]:
        """What a person can type behind a slash, as it is now."""
        ...

    async def expand(self, prompt: str, call: CallTool) -> ExpandedPrompt | None:
        """What a prompt stands for that begins with the name of a skill or command; None if it is plain prompt."""
        ...

    async def skill(self, name: str, arguments: str, call: CallTool) -> ExpandedPrompt:
        """The instructions of a skill that the model wants to follow. Raises `PromptNotSent` if there is no such."""
        ...


class PromptService(Protocol):
    """Prompts that MCP servers have."""

    def commands(self) -> Sequence[SlashCommandInfo]:
        """What a person can type behind a slash; none before the servers have started."""
        ...

    async def expand(self, prompt: str) -> ExpandedPrompt | None:
        """What a prompt stands for that names one of them, as its server says; None if it names none."""
        ...


class InstructionService(Protocol):
    """Instruction files and rules of the session."""

    def prompt_section(self, mode: str) -> str:
        """What the system prompt says of them in a task mode, the same each time; empty if there are none."""
        ...

    def touched(self, task_id: str, mode: str, paths: Sequence[str]) -> str:
        """What is to be followed for files that a call of the task touched, told once; empty if there is nothing."""
        ...


class Recollection(msgspec.Struct, frozen=True, kw_only=True):
    """What memory has to say to a prompt: to the model, and to the person."""

    reminder: str = ""
    notices: tuple[str, ...] = ()


class MemoryService(Protocol):
    """What is remembered between sessions. Nothing here raises: memory that cannot be read is told to the person."""

    def prompt_section(self, task_id: str) -> str:
        """What the system prompt of a task says of it; empty if nothing is remembered."""
        ...

    def recall(self, task_id: str, prompt: str, message: int) -> Recollection:
        """The person said something: what the model should now know besides, and what was noted for later.

        `message` is the row in which it was said.
        """
        ...

    def propose(self, kind: str, topic: str, text: str, message: int) -> ToolResult:
        """The model thinks that something should be remembered. The person decides about it later."""
        ...
