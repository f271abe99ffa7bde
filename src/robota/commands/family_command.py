"""The slash command of a family of verbs."""

import shlex
from collections.abc import Iterable
from typing import Any

import msgspec

from robota.commands.arguments import declared, hint_of, written
from robota.commands.command import SlashCommand
from robota.commands.typed_words import parse_typed
from robota.commands.verb import Family, NeedsAgreement, SessionRefused, Verb, WrongArguments, execute
from robota.commands.verb_host import VerbHost
from robota.protocol.commands import Refused
from robota.protocol.slash_commands import (
    CommandChoice,
    CommandOption,
    CommandOutcome,
    SlashCommandInfo,
    SubcommandInfo,
)
from robota.text.visible import single_line


def family_command(family: Family, host: VerbHost) -> SlashCommand:
    """`/NAME VERB …`."""

    async def run(typed: str) -> CommandOutcome | Refused:
        return await _run(family, host, typed)

    def complete(before: tuple[str, ...]) -> Iterable[SubcommandInfo]:
        return _complete(family, host, before)

    return SlashCommand(info=info_of(family), run=run, complete=complete)


def info_of(family: Family) -> SlashCommandInfo:
    """The family as clients offer it."""
    return SlashCommandInfo(
        name=family.name,
        aliases=family.aliases,
        argument_hint=hint_of(family),
        description=family.description,
        subcommands=_words(family),
    )


async def _run(family: Family, host: VerbHost, typed: str) -> CommandOutcome | Refused:
    found = _find(family, typed, f"/{family.name}")
    if isinstance(found, Refused):
        return found
    try:
        answer = await execute(found.verb, host, parse_typed(found.verb, found.rest))
    except WrongArguments as problem:
        return _wrong(str(problem), found.usage)
    except SessionRefused as refusal:
        return refusal.receipt
    except family.caught as error:
        return Refused(code=family.name, message=family.explain(error).message)
    return _choice(answer.pending[0], found.line) if answer.pending else answer.outcome


def _choice(pending: NeedsAgreement, line: str) -> CommandChoice:
    """The choice to agree; its line agrees to exactly what is shown."""
    agreeing = f"{line} {shlex.join(written(pending.arguments))}"
    return CommandChoice(
        title=f"{pending.about}\n{pending.caution}",
        options=(CommandOption(label=pending.label, line=agreeing, detail=pending.detail),),
    )


class _Found(msgspec.Struct, frozen=True):
    """A verb, the line up to it, and the words behind it."""

    verb: Verb[Any]
    line: str
    rest: str

    @property
    def usage(self) -> str:
        return f"{self.line} {hint_of(self.verb)}"


def _find(family: Family, typed: str, line: str) -> _Found | Refused:
    name, *rest = (typed.strip() or family.default).split(maxsplit=1) or ("",)
    verb = _named(family, name)
    if verb is None:
        return _wrong(f"Invalid action {single_line(name)!r}.", f"{line} {hint_of(family)}")
    if isinstance(verb, Family):
        return _find(verb, "".join(rest), f"{line} {name}")
    return _Found(verb, f"{line} {name}", "".join(rest))


def _named(family: Family, name: str) -> Verb[Any] | Family | None:
    return next((each for each in family.verbs if name in (each.name, *each.aliases)), None)


def _wrong(problem: str, usage: str) -> Refused:
    return Refused(code="wrong_arguments", message=f"{problem} Usage: {usage.strip()}. Nothing was changed.")


def _words(family: Family) -> tuple[SubcommandInfo, ...]:
    return tuple(
        SubcommandInfo(name=verb.name, argument_hint=hint_of(verb), description=_help(verb)) for verb in family.listed
    )


def _help(verb: Verb[Any] | Family) -> str:
    return verb.description if isinstance(verb, Family) else verb.help


def _complete(family: Family, host: VerbHost, before: tuple[str, ...]) -> Iterable[SubcommandInfo]:
    """The values of the next positional argument, and the options. The verbs themselves are in the info."""
    name, *rest = before or ("",)
    verb = _named(family, name)
    if isinstance(verb, Family):
        return _complete(verb, host, tuple(rest)) if rest else _words(verb)
    return () if verb is None else _values(verb, host, rest)


def _values(verb: Verb[Any], host: VerbHost, before: list[str]) -> Iterable[SubcommandInfo]:
    found = declared(verb.arguments)
    flags = {each.flag: each for each in found.typed_options}
    asking = flags.get(before[-1]) if before else None
    if asking is not None and not asking.is_flag:
        yield from (SubcommandInfo(name=choice) for choice in asking.choices)
        return
    given = sum(not word.startswith("-") for word in before)
    for each in found.positionals[given : given + 1]:
        yield from (SubcommandInfo(name=choice) for choice in each.choices)
        yield from each.how.complete(host) if each.how.complete else ()
    for flag, option in flags.items():
        if flag not in before or option.is_repeatable:
            yield SubcommandInfo(name=flag, argument_hint=option.metavar, description=option.how.help)
