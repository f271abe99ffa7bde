"""The slash command type, and what commands have in common."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

import msgspec

from robota.commands.effect import EffectOf
from robota.engine.session.session import Session
from robota.protocol.asks.answer import Say
from robota.protocol.commands import AskResponse, NewTask, QueueMessage, Refused
from robota.protocol.slash_commands import (
    CommandOutcome,
    CommandShown,
    CommandSource,
    CommandStarted,
    DiffShown,
    SlashCommandInfo,
    SubcommandInfo,
)
from robota.protocol.views import FieldsView, NamedText, TextView

Run = Callable[[str], Awaitable[CommandOutcome | Refused]]


CompleteArguments = Callable[[tuple[str, ...]], Iterable[SubcommandInfo]]


def no_completion(before: tuple[str, ...]) -> Iterable[SubcommandInfo]:
    """For a command whose arguments cannot be completed."""
    return ()


class SlashCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command. `run` gets the text after its name, stripped, and `effect` says what that would do.

    `complete` returns candidates for the next argument after the given ones, besides the sub-commands. It runs in a
    thread and may read files. `load_info` adds to the info what only this session has, such as its modes.
    """

    info: SlashCommandInfo
    run: Run
    effect: EffectOf
    complete: CompleteArguments = no_completion
    load_info: Callable[[], SlashCommandInfo] | None = None

    @property
    def full_info(self) -> SlashCommandInfo:
        return self.info if self.load_info is None else self.load_info()


class CommandProvider(Protocol):
    """A source of commands: built-in ones, files, skills, plugins or MCP servers."""

    @property
    def source(self) -> CommandSource: ...

    def commands(self) -> Iterable[SlashCommand]:
        """The current commands."""
        ...


def shown_text(text: str) -> CommandShown:
    """A plain text as the outcome of a command."""
    return CommandShown(view=TextView(text=text))


def shown_diff(diff: str, otherwise: str) -> CommandOutcome:
    """A unified diff, or the text `otherwise` if it is empty."""
    return DiffShown(diff=diff) if diff else shown_text(otherwise)


def fields(heading: str, *named: tuple[str, str]) -> CommandShown:
    """Named values under a heading."""
    return CommandShown(
        view=FieldsView(heading=heading, fields=tuple(NamedText(name=name, text=text) for name, text in named))
    )


def wrong_arguments(info: SlashCommandInfo, problem: str) -> Refused:
    """The refusal of wrong arguments, with the usage of the command."""
    usage = f"/{info.name} {info.argument_hint}".strip()
    return Refused(code="wrong_arguments", message=f"{problem} Usage: {usage}. Nothing was changed.")


async def send_prompt(session: Session, line: str) -> CommandOutcome | Refused:
    """Send a line that expands to a prompt: queued if the task works, to the waiting task, or as a new task.

    The conversation shows the line; the task expands it for the model.
    """
    if session.is_working:
        receipt = await session.submit(QueueMessage(text=line))
        return receipt if isinstance(receipt, Refused) else shown_text(f"queued: {line}")
    # A queued message would not wake a task that was resumed.
    receipt = await session.submit(AskResponse(answer=Say(text=line)) if session.takes_prompt else NewTask(text=line))
    return receipt if isinstance(receipt, Refused) else CommandStarted(is_prompt=True)
