"""The services for skills, prompt commands, instruction files, memory and mentions, as the engine uses them."""

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
    """A prompt cannot be expanded. The text says why, for the user; `for_model` says it without advice for them."""

    def __init__(self, text: str, *, for_model: str = "") -> None:
        super().__init__(text)
        self.for_model = for_model or text


class PromptHalted(PromptNotSent):
    """A hook or the user stopped the task while the prompt was expanded."""


class MentionedText(msgspec.Struct, frozen=True, kw_only=True):
    """Text and images to add to a prompt for its `@` mentions, and notices for the user."""

    text: str = ""
    images: tuple[ImageSource, ...] = ()
    notices: tuple[str, ...] = ()


class ExpandMentions(Protocol):
    """Expands the `@` mentions of a prompt."""

    async def __call__(self, prompt: str, files: "Files", call: CallTool) -> MentionedText:
        """Read what is mentioned with tool calls like those of the model; a denied call becomes a note."""
        ...


class SubtaskWanted(msgspec.Struct, frozen=True, kw_only=True):
    """The prompt runs as a subtask, perhaps with another model and a request limit."""

    model: str | None = None
    max_requests: int | None = None


class ExpandedPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """The text that the model gets instead of what was typed.

    `rules` are granted, and `denied` rules forbid, until control goes back to the user; until then `model` answers, if
    it is set. `notices` are for the user.
    The `@` mentions in `mention_source` count as if they had been typed.
    """

    text: str
    mention_source: str = ""
    rules: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    model: str | None = None
    subtask: SubtaskWanted | None = None
    notices: tuple[str, ...] = ()


class KnowledgeService(Protocol):
    """The skills and prompt commands of the session."""

    @property
    def is_in_prompt(self) -> bool:
        """Whether skills are in the system prompt, and the model has the tool to use one."""
        ...

    @property
    def prompt_section(self) -> str:
        """The section of the system prompt about skills; empty if there are none for the model."""
        ...

    def commands(self) -> Sequence[SlashCommandInfo]:
        """The slash commands, as they are now."""
        ...

    async def expand(self, prompt: str, call: CallTool) -> ExpandedPrompt | None:
        """Expand a prompt that begins with the name of a skill or command; None for any other prompt."""
        ...

    async def skill(self, name: str, arguments: str, call: CallTool) -> ExpandedPrompt:
        """The instructions of a skill that the model calls. Raises `PromptNotSent` if there is none."""
        ...


class PromptService(Protocol):
    """The prompts of MCP servers."""

    def commands(self) -> Sequence[SlashCommandInfo]:
        """The slash commands; none before the servers have started."""
        ...

    async def expand(self, prompt: str) -> ExpandedPrompt | None:
        """Expand a prompt that names one, by asking its server; None for any other prompt."""
        ...


class InstructionService(Protocol):
    """Instruction files and rules of the session."""

    def prompt_section(self, mode: str) -> str:
        """Their section of the system prompt in a task mode, the same each time; empty if there are none."""
        ...

    def touched(self, task_id: str, mode: str, paths: Sequence[str]) -> str:
        """Instructions for files that a call of the task touched, each returned once; empty if there are none."""
        ...


class Recollection(msgspec.Struct, frozen=True, kw_only=True):
    """What memory adds to a prompt: a reminder for the model, notices for the user, and what of it is not used."""

    reminder: str = ""
    notices: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class MemoryService(Protocol):
    """Memory between sessions. Its methods do not raise: unreadable memory leads to a notice."""

    def prompt_section(self, task_id: str) -> str:
        """Its section of the system prompt of a task; empty if nothing is remembered."""
        ...

    def recall(self, task_id: str, prompt: str, message: int) -> Recollection:
        """Find the entries that fit a prompt, and note what it asks to be remembered.

        `message` is the `ts` of the row that shows the prompt.
        """
        ...

    def propose(self, kind: str, topic: str, text: str, message: int) -> ToolResult:
        """Propose an entry for the model. The user decides about it later."""
        ...
