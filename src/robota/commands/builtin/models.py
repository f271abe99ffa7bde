"""Commands about who answers: the model, the provider profile, the language of the answers."""

from collections.abc import Iterable
from functools import partial
from typing import Final

from robota.commands.builtin.kept_setting import keep_setting
from robota.commands.command import SlashCommand, fields, told, wrong_arguments
from robota.commands.host import CommandHost
from robota.config.settings.languages import NAMES, language_problem
from robota.protocol.commands import Refused
from robota.protocol.slash_commands import (
    CommandChoice,
    CommandOption,
    CommandOutcome,
    SessionWanted,
    SlashCommandInfo,
    SubcommandInfo,
)
from robota.providers.catalogue import catalogue
from robota.text.visible import single_line

MODEL: Final = SlashCommandInfo(
    name="model",
    argument_hint="[NAME]",
    description="the model of this session, or go on with another one of the same provider",
    while_working=False,
)
PROVIDER: Final = SlashCommandInfo(
    name="provider",
    argument_hint="[PROFILE]",
    description="the provider profiles; choosing one goes on with it and its model",
    while_working=False,
)
LANGUAGE: Final = SlashCommandInfo(
    name="language",
    argument_hint="[LANGUAGE]",
    description="the language of the answers, here and in the sessions after this one",
    while_working=False,
)
NO_PROVIDER: Final = "No provider is configured. To set one up: robota --configure"


def model_commands(host: CommandHost) -> Iterable[SlashCommand]:
    """`/model`, `/provider` and `/language`. Another model takes the session up again: its window and price hold."""
    options = host.options

    async def model(arguments: str) -> CommandOutcome | Refused:
        if not arguments or not host.has_model:
            return _model_shown(host)
        if len(arguments.split()) != 1:
            return wrong_arguments(MODEL, "The name of a model is one word.")
        if arguments == options.model:
            return told(f"The model is {arguments} already.")
        return SessionWanted(session_id=options.session_id, provider=options.provider_name, model=arguments)

    async def provider(arguments: str) -> CommandOutcome | Refused:
        profiles = host.settings.values.providers
        if not arguments:
            return _profiles(host) if profiles else told(NO_PROVIDER)
        if arguments not in profiles:
            known = ", ".join(profiles) or "none"
            problem = f"There is no provider profile {single_line(arguments)!r}. There are: {known}."
            return wrong_arguments(PROVIDER, problem)
        if arguments == options.provider_name:
            return told(f"The provider is {arguments} already.")
        return SessionWanted(session_id=options.session_id, provider=arguments)

    async def language(arguments: str) -> CommandOutcome | Refused:
        return await _language(host, arguments)

    yield SlashCommand(info=MODEL, run=model, complete=partial(_model_words, host))
    yield SlashCommand(info=PROVIDER, run=provider, complete=partial(_profile_words, host))
    yield SlashCommand(info=LANGUAGE, run=language, complete=_language_words)


def _profile_words(host: CommandHost, before: tuple[str, ...]) -> Iterable[SubcommandInfo]:
    known = host.settings.values.providers.items() if not before else ()
    return (SubcommandInfo(name=name, description=f"{each.type}, {each.model or 'no model'}") for name, each in known)


def _model_words(host: CommandHost, before: tuple[str, ...]) -> Iterable[SubcommandInfo]:
    """The models that are known of the provider's type; any other name can be typed too."""
    profile = host.settings.values.providers.get(host.options.provider_name)
    if before or profile is None:
        return
    for name, facts in catalogue().models.get(profile.type, {}).items():
        yield SubcommandInfo(name=name, description=f"{facts.context_window:,} tokens")


def _model_shown(host: CommandHost) -> CommandOutcome:
    if not host.has_model:
        return told(NO_PROVIDER)
    return fields(
        f"Model {host.options.model}",
        ("provider", host.options.provider_name),
        ("context window", f"{host.services.model.info.context_window:,} tokens"),
        ("if it fails", ", ".join(host.options.fallback_models) or "no other model is tried"),
    )


async def _language(host: CommandHost, wanted: str) -> CommandOutcome | Refused:
    if not wanted:
        chosen = host.settings.values.language
        return told(f"The answers are to be in: {chosen}." if chosen else "None is set: the model chooses.")
    problem = language_problem(wanted)
    if problem is not None:
        return wrong_arguments(LANGUAGE, f"{problem[0].upper()}{problem[1:]}.")
    refused = await keep_setting(host, ("language",), wanted)
    return refused or SessionWanted(session_id=host.options.session_id, language=wanted)


def _language_words(before: tuple[str, ...]) -> Iterable[SubcommandInfo]:
    return (SubcommandInfo(name=code, description=name) for code, name in NAMES.items() if not before)


def _profiles(host: CommandHost) -> CommandChoice:
    return CommandChoice(
        title=f"The provider is {host.options.provider_name}, the model {host.options.model}.",
        options=tuple(
            CommandOption(label=name, line=f"/provider {name}", detail=f"{profile.type}, {profile.model or 'no model'}")
            for name, profile in host.settings.values.providers.items()
        ),
    )
