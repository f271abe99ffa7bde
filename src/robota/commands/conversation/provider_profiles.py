"""`/provider`: shows, tests, switches and sets up provider profiles."""

from collections.abc import Iterable
from functools import partial
from typing import Final

from robota.commands.command import SlashCommand, fields, shown_text, wrong_arguments
from robota.commands.effect import reads
from robota.commands.host import CommandHost
from robota.config.errors import ConfigError
from robota.protocol.commands import Refused
from robota.protocol.slash_commands import (
    CommandChoice,
    CommandOption,
    CommandOutcome,
    CommandShown,
    SessionWanted,
    SlashCommandInfo,
    SubcommandInfo,
)
from robota.protocol.views import TableView
from robota.providers.fault import ProviderFault
from robota.providers.registry import definitions
from robota.text.visible import single_line

NO_PROVIDER: Final = "No provider is configured. To set one up: robota --configure"
ADD: Final = SubcommandInfo(name="add", argument_hint="[TYPE]", description="set up another profile")
TEST: Final = SubcommandInfo(name="test", argument_hint="[PROFILE]", description="check that its server responds")
ACTIONS: Final = (
    SubcommandInfo(name="current", description="show the provider and model of this session"),
    SubcommandInfo(name="list", description="list all profiles"),
    SubcommandInfo(name="use", argument_hint="PROFILE", description="switch to a profile and its model"),
    ADD,
    TEST,
)
PROVIDER: Final = SlashCommandInfo(
    name="provider",
    argument_hint="[PROFILE | ACTION]",
    description="show provider profiles, or switch to one",
    subcommands=ACTIONS,
    while_working=False,
)


def commands(host: CommandHost) -> Iterable[SlashCommand]:
    """`/provider`. A profile that is named like an action is selected with `use`."""

    async def provider(arguments: str) -> CommandOutcome | Refused:
        match arguments.split():
            case []:
                return _choice(host)
            case ["current"]:
                return _current(host)
            case ["list"]:
                return _table(host)
            case ["add", *kind] if len(kind) <= 1:
                return _set_up(host, "".join(kind))
            case ["test", *name] if len(name) <= 1:
                return await _test(host, "".join(name) or host.options.provider_name)
            case ["use", name] | [name]:
                return _use(host, name)
            case _:
                return wrong_arguments(PROVIDER, "Invalid arguments for /provider.")

    yield SlashCommand(info=PROVIDER, run=provider, effect=reads, complete=partial(_complete, host))


def _complete(host: CommandHost, before: tuple[str, ...]) -> Iterable[SubcommandInfo]:
    if before == ("add",):
        return _provider_types()
    profiles = host.settings.values.providers.items() if before in ((), ("use",), ("test",)) else ()
    return (
        SubcommandInfo(name=name, description=f"{each.type}, {each.model or 'no model'}") for name, each in profiles
    )


def _provider_types() -> Iterable[SubcommandInfo]:
    return [SubcommandInfo(name=kind.type, description=kind.description) for kind in definitions()]


def _choice(host: CommandHost) -> CommandChoice:
    profiles = host.settings.values.providers
    title = NO_PROVIDER
    if host.has_model:
        title = f"The provider is {host.options.provider_name}, the model {host.options.model}."
    options = [
        CommandOption(label=name, line=f"/provider {name}", detail=f"{profile.type}, {profile.model or 'no model'}")
        for name, profile in profiles.items()
    ]
    if profiles:
        options.append(CommandOption(label="test", line="/provider test", detail=TEST.description))
    options.append(CommandOption(label="add", line="/provider add", detail=ADD.description))
    return CommandChoice(title=title, options=tuple(options))


def _current(host: CommandHost) -> CommandShown:
    profile = host.settings.values.providers.get(host.options.provider_name)
    if profile is None or not host.has_model:
        return shown_text(NO_PROVIDER)
    address = ("address", profile.base_url) if profile.base_url else None
    rows = [("type", profile.type), ("model", host.options.model), address]
    return fields(f"Provider {host.options.provider_name}", *(row for row in rows if row is not None))


def _table(host: CommandHost) -> CommandShown:
    rows = tuple(
        ("*" if name == host.options.provider_name else "", name, each.type, each.model or "", each.base_url or "")
        for name, each in host.settings.values.providers.items()
    )
    if not rows:
        return shown_text(NO_PROVIDER)
    return CommandShown(view=TableView(columns=("", "PROFILE", "TYPE", "MODEL", "ADDRESS"), rows=rows))


def _use(host: CommandHost, name: str) -> CommandOutcome | Refused:
    if name not in host.settings.values.providers:
        return _no_profile(host, name)
    if name == host.options.provider_name and host.has_model:
        return shown_text(f"The provider is already {name}.")
    return SessionWanted(session_id=host.options.session_id, provider=name)


def _set_up(host: CommandHost, kind: str) -> CommandOutcome | Refused:
    kinds = [each.name for each in _provider_types()]
    if kind and kind not in kinds:
        return wrong_arguments(PROVIDER, f"Unknown provider type. Available: {', '.join(kinds)}.")
    return SessionWanted(session_id=host.options.session_id, sets_up=kind)


async def _test(host: CommandHost, name: str) -> CommandOutcome | Refused:
    from msgspec.structs import replace

    from robota.commands.provider_trial import PROBE_SECONDS, probe

    if name not in host.settings.values.providers:
        return _no_profile(host, name)
    try:
        profile = replace(host.settings.values.providers[name], name=name)
        return shown_text(f"{name}: {(await probe(profile, host.env, PROBE_SECONDS)).text}")
    except (ConfigError, ProviderFault) as error:
        return Refused(code="provider", message=f"{name} does not respond: {error}")


def _no_profile(host: CommandHost, name: str) -> Refused:
    names = ", ".join(host.settings.values.providers) or "none"
    return wrong_arguments(PROVIDER, f"There is no provider profile {single_line(name)!r}. Available: {names}.")
