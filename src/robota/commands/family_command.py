"""The slash command of a family of verbs."""

import asyncio
import shlex
from collections.abc import Iterable
from inspect import iscoroutinefunction
from typing import Any, Final

import msgspec

from robota.commands.arguments import hint_of, written
from robota.commands.command import SlashCommand
from robota.commands.effect import Effect, MakesChanges, Reads
from robota.commands.typed_words import parse_typed
from robota.commands.verb import (
    Answer,
    ConversationVerb,
    Family,
    NeedsAgreement,
    ReadingVerb,
    SessionRefused,
    ShellVerb,
    Verb,
    WrongArguments,
)
from robota.commands.verb_host import VerbHost
from robota.config.arguments import ChangingOption, declared
from robota.protocol.commands import Refused
from robota.protocol.slash_commands import (
    CommandChoice,
    CommandOption,
    CommandOutcome,
    CommandShown,
    SlashCommandInfo,
    SubcommandInfo,
)
from robota.protocol.views import PartsView, SimpleView, TextView
from robota.text.visible import single_line

MAX_LINE: Final = 300


def family_command(family: Family, host: VerbHost) -> SlashCommand:
    """`/NAME VERB …`."""

    async def run(typed: str) -> CommandOutcome | Refused:
        return await _run(family, host, typed)

    def complete(before: tuple[str, ...]) -> Iterable[SubcommandInfo]:
        return _complete(family, host, before)

    def effect(typed: str) -> Effect:
        return _effect(family, typed)

    return SlashCommand(info=info_of(family), run=run, effect=effect, complete=complete)


def info_of(family: Family) -> SlashCommandInfo:
    """The family as clients offer it."""
    return SlashCommandInfo(
        name=family.name,
        aliases=family.aliases,
        argument_hint=hint_of(family),
        description=family.description,
        subcommands=_subcommands(family),
        while_working=family.while_working,
    )


async def _run(family: Family, host: VerbHost, typed: str) -> CommandOutcome | Refused:
    call = _call(family, typed, f"/{family.name}")
    if isinstance(call, Refused):
        return call
    if isinstance(call.verb, ShellVerb):
        return _only_in_shell(call, call.verb.reason)
    notices: list[str] = []
    try:
        answer = await _execute(call.verb, _with_notices(host, notices), parse_typed(call.verb, call.rest))
    except WrongArguments as problem:
        return _wrong(str(problem), call.usage)
    except SessionRefused as refusal:
        return refusal.receipt
    except family.caught as error:
        return Refused(code=family.name, message=family.failure(error).message)
    if answer.pending:
        return _choice(answer.pending[0], call.line)
    return _beside(answer.outcome, (*notices, *answer.notices))


def _with_notices(host: VerbHost, notices: list[str]) -> VerbHost:
    """The host, with notices collected for this run."""
    return msgspec.structs.replace(host, notices=notices) if isinstance(host, msgspec.Struct) else host


async def _execute(verb: Verb[Any], host: VerbHost, arguments: msgspec.Struct) -> Answer:
    # A plain function may wait for the lock of another process or a slow disk, which must not block a session.
    run = await asyncio.to_thread(verb.load)
    is_async: bool = iscoroutinefunction(run)
    answer = run(host, arguments) if is_async else await asyncio.to_thread(run, host, arguments)
    return answer if isinstance(answer, Answer) else await answer


def _beside(outcome: CommandOutcome, notices: tuple[str, ...]) -> CommandOutcome:
    """The outcome with notices below it, if it can have any."""
    if not notices or not isinstance(outcome, CommandShown):
        return outcome
    view = outcome.view
    parts = view.parts if isinstance(view, PartsView) else (view,) if isinstance(view, SimpleView) else ()
    below = TextView(text="\n".join(notices))
    return CommandShown(view=PartsView(parts=(*parts, below))) if parts else outcome


def _effect(family: Family, typed: str) -> Effect:
    call = _call(family, typed, f"/{family.name}")
    if isinstance(call, Refused) or isinstance(call.verb, ShellVerb):
        return Reads()  # it is refused with its reason
    try:
        arguments = parse_typed(call.verb, call.rest)
    except WrongArguments:
        return Reads()  # they are refused with the usage
    if isinstance(call.verb, ReadingVerb) and not _has_changing_option(arguments):
        return Reads()
    return MakesChanges(f"robota, and type {call.line}" if isinstance(call.verb, ConversationVerb) else call.in_shell)


def _has_changing_option(arguments: msgspec.Struct) -> bool:
    """Whether an option is given with which the verb changes something."""
    options = [each for each in declared(type(arguments)).options if isinstance(each.how, ChangingOption)]
    return any(getattr(arguments, option.name) for option in options)


def _only_in_shell(call: "_Call", reason: str) -> Refused:
    message = f"{call.line} works only in a shell: {reason}. There: {call.in_shell}"
    return Refused(code="only_in_shell", message=message)


def _choice(pending: NeedsAgreement, line: str) -> CommandChoice:
    """The choice to agree; its line agrees to exactly what is shown."""
    agreeing = f"{line} {shlex.join(written(pending.arguments))}"
    return CommandChoice(
        title=f"{pending.about}\n{pending.caution}",
        options=(CommandOption(label=pending.label, line=agreeing, detail=pending.detail),),
    )


class _Call(msgspec.Struct, frozen=True):
    """A verb, the line up to it, and the words behind it."""

    verb: Verb[Any]
    line: str
    rest: str

    @property
    def usage(self) -> str:
        return f"{self.line} {hint_of(self.verb)}"

    @property
    def in_shell(self) -> str:
        """The line for a shell, quoted, because the words may come from somebody else."""
        return f"robota {self.line.removeprefix('/')} {self._quoted()}".strip()

    def _quoted(self) -> str:
        try:
            words = shlex.join(shlex.split(self.rest))
        except ValueError:
            return hint_of(self.verb)  # a text with an apostrophe
        return words if words == single_line(words, MAX_LINE) else hint_of(self.verb)


def _call(family: Family, typed: str, line: str) -> _Call | Refused:
    name, *rest = (typed.strip() or family.default).split(maxsplit=1) or ("",)
    verb = _named(family, name)
    if verb is None and family.main is not None:
        return _Call(family.main, line, typed)
    if verb is None:
        return _wrong(f"Invalid action {single_line(name)!r}.", f"{line} {hint_of(family)}")
    if isinstance(verb, Family):
        return _call(verb, "".join(rest), f"{line} {name}")
    return _Call(verb, f"{line} {name}", "".join(rest))


def _named(family: Family, name: str) -> Verb[Any] | Family | None:
    return next((each for each in family.verbs if name in (each.name, *each.aliases)), None)


def _wrong(problem: str, usage: str) -> Refused:
    return Refused(code="wrong_arguments", message=f"{problem} Usage: {usage.strip()}. Nothing was changed.")


def _subcommands(family: Family) -> tuple[SubcommandInfo, ...]:
    return tuple(
        SubcommandInfo(
            name=verb.name,
            argument_hint=hint_of(verb),
            description=verb.description if isinstance(verb, Family) else verb.help,
        )
        for verb in family.in_conversation
    )


def _complete(family: Family, host: VerbHost, before: tuple[str, ...]) -> Iterable[SubcommandInfo]:
    """The values of the next positional argument, and the options. The verbs themselves are in the info."""
    name, *rest = before or ("",)
    verb = _named(family, name)
    if isinstance(verb, Family):
        return _complete(verb, host, tuple(rest)) if rest else _subcommands(verb)
    if verb is None and family.main is not None:
        return _values(family.main, host, list(before))
    return () if verb is None or isinstance(verb, ShellVerb) else _values(verb, host, rest)


def _values(verb: Verb[Any], host: VerbHost, before: list[str]) -> Iterable[SubcommandInfo]:
    arguments = declared(verb.arguments)
    flags = {each.flag: each for each in arguments.typed_options}
    asking = flags.get(before[-1]) if before else None
    if asking is not None and not asking.is_flag:
        yield from (SubcommandInfo(name=choice) for choice in asking.choices)
        return
    given = sum(not word.startswith("-") for word in before)
    for each in arguments.positionals[given : given + 1]:
        yield from (SubcommandInfo(name=choice) for choice in each.choices)
        yield from each.how.complete(host) if each.how.complete else ()
    for flag, option in flags.items():
        if flag not in before or option.is_repeatable:
            yield SubcommandInfo(name=flag, argument_hint=option.metavar, description=option.how.help)
