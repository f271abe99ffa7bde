"""What a slash command is: how it is offered, and what runs."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

import msgspec

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


def no_more_words(before: tuple[str, ...]) -> Iterable[SubcommandInfo]:
    """Of a command behind which nothing can be guessed."""
    return ()


class SlashCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command. `run` takes the words behind its name, without blanks around them.

    `complete` gives the words that may come next behind those that stand there, besides the sub-commands. It is called
    in a thread of its own and may read files.
    """

    info: SlashCommandInfo
    run: Run
    complete: CompleteArguments = no_more_words


class CommandProvider(Protocol):
    """Where commands come from: what is built in, files, skills, plugins, MCP servers."""

    @property
    def source(self) -> CommandSource: ...

    def commands(self) -> Iterable[SlashCommand]:
        """The commands there are now."""
        ...


def shown_text(text: str) -> CommandShown:
    """A plain text as the outcome of a command."""
    return CommandShown(view=TextView(text=text))


def shown_diff(diff: str, otherwise: str) -> CommandOutcome:
    """A unified diff, or words if it is empty."""
    return DiffShown(diff=diff) if diff else shown_text(otherwise)


def fields(heading: str, *named: tuple[str, str]) -> CommandShown:
    """Named values under a heading."""
    return CommandShown(
        view=FieldsView(heading=heading, fields=tuple(NamedText(name=name, text=text) for name, text in named))
    )


def wrong_arguments(info: SlashCommandInfo, problem: str) -> Refused:
    """What was wrong with the words behind a command, and how it is used."""
    usage = f"/{info.name} {info.argument_hint}".strip()
    return Refused(code="wrong_arguments", message=f"{problem} Usage: {usage}. Nothing was changed.")


async def send_prompt(session: Session, line: str) -> CommandOutcome | Refused:
    """Give the task a line that stands for a prompt: the one there is, after what it does, or a new one.

    The person reads the line in the conversation; the task puts the prompt in its place.
    """
    if session.is_working:
        receipt = await session.submit(QueueMessage(text=line))
        return receipt if isinstance(receipt, Refused) else shown_text(f"queued: {line}")
    has_task = session.state().current_task_id is not None
    # A task at rest waits for words, also one that was taken up again, which nothing queued may set going.
    receipt = await session.submit(AskResponse(answer=Say(text=line)) if has_task else NewTask(text=line))
    return receipt if isinstance(receipt, Refused) else CommandStarted()
