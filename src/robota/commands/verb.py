"""What a verb is: typed arguments, and one function that returns data.

A family is a group of verbs under one name. From it come the sub-command of `robota`, the slash command, completion,
help, the JSON form and the reference pages.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from inspect import iscoroutinefunction
from typing import Annotated, Any, Final, Generic, TypeVar

import msgspec

from robota.commands.verb_host import VerbHost
from robota.config.errors import ConfigError
from robota.log.errors import LogError
from robota.protocol.commands import Refused
from robota.protocol.slash_commands import CommandOutcome, CommandShown, SubcommandInfo
from robota.protocol.views import TableView, TextView, View

FAILED: Final = 1
CONFIGURATION: Final = 3

Complete = Callable[[VerbHost], Iterable[SubcommandInfo]]


class Positional(msgspec.Struct, frozen=True):
    """An argument without a name. `complete` lists its values; it runs in a thread and may read files."""

    metavar: str
    help: str | None = None
    complete: Complete | None = None


class RestOfLine(Positional, frozen=True):
    """The last positional argument: several words. In a slash command, it is the rest of the line as typed."""


class Option(msgspec.Struct, frozen=True):
    """An argument with a name: a flag if it is a bool, repeatable if it is a tuple.

    At most one option of a `group` can be given. `also` are other spellings. In a slash command, there is no option
    that is `only_in_shell`, `takes_rest` reads the rest of the line as typed, and the values of `after_dashes` can
    also follow `--`. One that is `hidden` is meant for lines that the program offers, and is not in any help.
    """

    help: str = ""
    metavar: str = ""
    also: tuple[str, ...] = ()
    group: str = ""
    only_in_shell: bool = False
    takes_rest: bool = False
    after_dashes: bool = False
    hidden: bool = False


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


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a verb: what clients draw, and data for `--json`. `is_well` is false if a part of it failed.

    `pending` is what the user has not agreed to; `notices` are printed besides the answer in a shell.
    """

    outcome: CommandOutcome
    data: Any = None
    is_well: bool = True
    pending: tuple[NeedsAgreement, ...] = ()
    notices: tuple[str, ...] = ()


class Failure(msgspec.Struct, frozen=True):
    """Why a verb did nothing, for the user, and the exit code of `robota`."""

    message: str
    exit_code: int = FAILED


class WrongArguments(Exception):
    """The arguments do not make sense together. The message, for the user, says why. Nothing was changed."""


class SessionRefused(Exception):
    """The session of the conversation refused what the verb asked of it."""

    def __init__(self, receipt: Refused) -> None:
        super().__init__(receipt.message)
        self.receipt = receipt


Arguments = TypeVar("Arguments", bound=msgspec.Struct)


class Verb(msgspec.Struct, Generic[Arguments], frozen=True):
    """A name, typed arguments, and a function. The function runs in a thread unless it is a coroutine function.

    `hint` replaces the usage that the arguments give. One that is `only_in_conversation` is not a sub-command of
    `robota`; one that is `unlisted`, in addition, is only used by lines that the program offers.
    """

    name: str
    help: str
    arguments: type[Arguments]
    run: Callable[[VerbHost, Arguments], Answer | Awaitable[Answer]]
    aliases: tuple[str, ...] = ()
    hint: str | None = None
    only_in_conversation: bool = False
    unlisted: bool = False


class NoArguments(msgspec.Struct, frozen=True):
    """For a verb without arguments."""


class RunsCommands(msgspec.Struct, frozen=True, kw_only=True):
    """For a verb that runs commands under the policy of the workspace."""

    allowed_tools: Annotated[
        tuple[str, ...],
        Option("calls allowed without asking, as for robota -p", "RULES", ("--allowedTools",), only_in_shell=True),
    ] = ()


def explain(error: Exception) -> Failure:
    """The failure as the error puts it."""
    return Failure(str(error), CONFIGURATION if isinstance(error, ConfigError | LogError) else FAILED)


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """Verbs under one name. `about` introduces the sub-command, `description` the slash command.

    Without words, the slash command runs the verb `default`. `problems` are the errors, besides those of settings and
    logs, that `explain` turns into a failure.
    """

    name: str
    about: str
    description: str
    verbs: "tuple[Verb[Any] | Family, ...]"
    default: str = ""
    aliases: tuple[str, ...] = ()
    hint: str = ""
    problems: tuple[type[Exception], ...] = ()
    explain: Callable[[Exception], Failure] = explain

    @property
    def listed(self) -> "tuple[Verb[Any] | Family, ...]":
        """The verbs that users are told about."""
        return tuple(verb for verb in self.verbs if isinstance(verb, Family) or not verb.unlisted)

    @property
    def caught(self) -> tuple[type[Exception], ...]:
        return (*self.problems, ConfigError, LogError)


async def execute(verb: Verb[Arguments], host: VerbHost, arguments: Arguments) -> Answer:
    """Run a verb. Raises the errors of its family and `WrongArguments`."""
    # A plain function may wait for the lock of another process or a slow disk, which must not block a session.
    is_async: bool = iscoroutinefunction(verb.run)
    answer = verb.run(host, arguments) if is_async else await asyncio.to_thread(verb.run, host, arguments)
    return answer if isinstance(answer, Answer) else await answer


def shown(view: View, data: Any = None, *, is_well: bool = True) -> Answer:
    """An answer that is a view."""
    return Answer(outcome=CommandShown(view=view), data=data, is_well=is_well)


def told(text: str, data: Any = None, *, is_well: bool = True) -> Answer:
    """An answer that is a text."""
    return shown(TextView(text=text), data, is_well=is_well)


def table(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]], data: Any = None, *, nothing: str = "") -> Answer:
    """An answer that is a table; the text `nothing` if it would be empty."""
    cells = tuple(rows)
    return told(nothing, data) if nothing and not cells else shown(TableView(columns=columns, rows=cells), data)
