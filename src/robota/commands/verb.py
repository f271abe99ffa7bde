"""What a verb is: typed arguments, and one function that returns data.

A family is a group of verbs under one name. From it come the sub-command of `robota`, the slash command, completion,
help, the JSON form and the reference pages.
"""

from collections.abc import Awaitable, Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Final, Generic, TypeVar

import msgspec

from robota.commands.verb_host import VerbHost
from robota.config.arguments import ShellOption
from robota.config.errors import ConfigError
from robota.log.errors import LogError
from robota.protocol.slash_commands import CommandOutcome, CommandShown
from robota.protocol.views import PartsView, SimpleView, TableView, TextView, View

if TYPE_CHECKING:
    from robota.clients.terminal.line import Line
    from robota.protocol.commands import Refused

DONE: Final = 0
FAILED: Final = 1
USAGE: Final = 2
CONFIGURATION: Final = 3
ADDRESS: Final = ("http://", "https://")


class NeedsAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """What a verb would do if the user agreed, and the arguments with which it does exactly that.

    `about` describes it, `label` and `detail` name the choice in a conversation, `purpose` says why a user of a shell
    would add the arguments.
    """

    about: str
    caution: str
    label: str
    detail: str
    purpose: str
    arguments: msgspec.Struct


class PagedOutput(msgspec.Struct, frozen=True):
    """Lines that a shell prints page by page on a terminal, unless the user wants them at once."""

    lines: "Iterable[Line]"
    stops: bool = True


class RawOutput(msgspec.Struct, frozen=True):
    """Bytes that a shell writes to standard output as they are, each piece at once."""

    pieces: Iterable[bytes]


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a verb: what clients draw, and data for `--json`, or a function that returns it.

    `exit_code` is that of `robota`. `output` is what a shell prints instead of the outcome, and also instead of JSON if
    there is no data. `pending` is what the user has not agreed to; `notices` are told besides the answer.
    """

    outcome: CommandOutcome
    data: Any = None
    exit_code: int = DONE
    output: PagedOutput | RawOutput | None = None
    pending: tuple[NeedsAgreement, ...] = ()
    notices: tuple[str, ...] = ()


class Failure(msgspec.Struct, frozen=True):
    """Why a verb did nothing, for the user, and the exit code of `robota`."""

    message: str
    exit_code: int = FAILED


class VerbFailed(Exception):
    """The verb did nothing, or not all of it. The message, for the user, says why and what to do."""

    def __init__(self, message: str, exit_code: int = FAILED) -> None:
        super().__init__(message)
        self.failure = Failure(message, exit_code)


class WrongArguments(Exception):
    """The arguments do not make sense together. The message, for the user, says why. Nothing was changed."""


class SessionRefused(Exception):
    """The session of the conversation refused what the verb asked of it."""

    def __init__(self, receipt: "Refused") -> None:
        super().__init__(receipt.message)
        self.receipt = receipt


Arguments = TypeVar("Arguments", bound=msgspec.Struct)
Run = Callable[[VerbHost, Arguments], Answer | Awaitable[Answer]]


class Verb(msgspec.Struct, Generic[Arguments], frozen=True):
    """A name, typed arguments, and a function, or `module:name` of one that is imported when the verb runs.

    It may change something, so that only a shell and an attended conversation have it, unless it is a `ReadingVerb`.
    In a conversation, the function runs in a thread unless it is a coroutine function. `hint` replaces the usage that
    the arguments give.
    """

    name: str
    help: str
    arguments: type[Arguments]
    run: Run[Arguments] | str
    aliases: tuple[str, ...] = ()
    hint: str | None = None

    def load(self) -> Run[Arguments]:
        """The function."""
        if not isinstance(self.run, str):
            return self.run
        module, _, name = self.run.partition(":")
        function: Run[Arguments] = getattr(import_module(f"robota.commands.{module}"), name)
        return function


class ShellVerb(Verb[Arguments], Generic[Arguments], frozen=True):
    """A verb that only `robota` has; `reason` says why a conversation cannot have it."""

    reason: str = ""


class ProgramVerb(ShellVerb[Arguments], Generic[Arguments], frozen=True):
    """A verb of `robota` itself, which has no workspace and no data: it takes neither `--cwd` nor `--json`."""


class ReadingVerb(Verb[Arguments], Generic[Arguments], frozen=True):
    """A verb that only shows something, unless a `ChangingOption` is given.

    A conversation that nobody attends has no other verbs.
    """


class ConversationVerb(Verb[Arguments], Generic[Arguments], frozen=True):
    """A verb that only the slash command has."""


class ReadingConversationVerb(ReadingVerb[Arguments], ConversationVerb[Arguments], Generic[Arguments], frozen=True):
    """A verb that only the slash command has, and that only shows something."""


class MenuVerb(ReadingConversationVerb[Arguments], Generic[Arguments], frozen=True):
    """A choice of the slash command that no help mentions: lines that the program offers use it."""


class NoArguments(msgspec.Struct, frozen=True):
    """For a verb without arguments."""


class RunsCommands(msgspec.Struct, frozen=True, kw_only=True):
    """For a verb that runs commands under the policy of the workspace."""

    allowed_tools: Annotated[
        tuple[str, ...], ShellOption("calls allowed without asking, as for robota -p", "RULES", ("--allowedTools",))
    ] = ()


def explain(error: Exception) -> Failure:
    """The failure as the error puts it."""
    return Failure(str(error), CONFIGURATION if isinstance(error, ConfigError | LogError) else FAILED)


def always(exit_code: int) -> Callable[[Exception], Failure]:
    """Explains every error as it puts it, with this exit code."""
    return lambda error: Failure(str(error), exit_code)


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """Verbs under one name. `about` introduces the sub-command, `description` the slash command.

    `main` runs if none of the `verbs` is named; its arguments follow the name of the family. Without words, the slash
    command runs the verb `default`. `problems` are the errors, besides those of settings and logs, that `explain` turns
    into a failure.
    """

    name: str
    about: str
    description: str = ""
    verbs: "tuple[Verb[Any] | Family, ...]" = ()
    main: Verb[Any] | None = None
    default: str = ""
    aliases: tuple[str, ...] = ()
    hint: str = ""
    while_working: bool = True
    problems: tuple[type[Exception], ...] = ()
    explain: Callable[[Exception], Failure] = explain

    @property
    def in_conversation(self) -> "tuple[Verb[Any] | Family, ...]":
        """The verbs of the slash command that help lists."""
        return tuple(verb for verb in self.verbs if not isinstance(verb, ShellVerb | MenuVerb))

    @property
    def in_shell(self) -> "tuple[Verb[Any] | Family, ...]":
        """The verbs of the sub-command."""
        return tuple(verb for verb in self.verbs if not isinstance(verb, ConversationVerb))

    @property
    def caught(self) -> tuple[type[Exception], ...]:
        return (*self.problems, VerbFailed, ConfigError, LogError)

    def failure(self, error: Exception) -> Failure:
        """What a caught error means for the user."""
        return error.failure if isinstance(error, VerbFailed) else self.explain(error)


def shown(view: View, data: Any = None, *, ok: bool = True) -> Answer:
    """An answer that is a view."""
    return Answer(outcome=CommandShown(view=view), data=data, exit_code=DONE if ok else FAILED)


def shown_parts(parts: Iterable[SimpleView], data: Any = None, *, ok: bool = True) -> Answer:
    """An answer that is several views below one another."""
    return shown(PartsView(parts=tuple(parts)), data, ok=ok)


def told(text: str, data: Any = None, *, ok: bool = True) -> Answer:
    """An answer that is a text."""
    return shown(TextView(text=text), data, ok=ok)


def printed(output: PagedOutput | RawOutput, data: Any = None, *, ok: bool = True) -> Answer:
    """An answer that only a shell can print."""
    return msgspec.structs.replace(told("", data, ok=ok), output=output)


def ended(exit_code: int) -> Answer:
    """The answer of a verb that has shown everything while it ran."""
    return Answer(outcome=CommandShown(view=TextView(text="")), output=RawOutput(()), exit_code=exit_code)


def raw(text: str, data: Any = None, *, ok: bool = True) -> Answer:
    """An answer that is a text, which a shell prints as it is: it is never wrapped."""
    output = RawOutput((f"{text}\n".encode(errors="surrogateescape"),))
    return msgspec.structs.replace(told(text, data, ok=ok), output=output)


def json_text(value: Any) -> str:
    """A value as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def table(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]], data: Any = None, *, nothing: str = "") -> Answer:
    """An answer that is a table; the text `nothing` if it would be empty."""
    cells = tuple(rows)
    return told(nothing, data) if nothing and not cells else shown(TableView(columns=columns, rows=cells), data)
