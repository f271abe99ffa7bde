"""Commands about the model and the language of its answers."""

from collections.abc import Iterable
from functools import partial
from typing import Final

from robota.commands.command import SlashCommand, fields, shown_text, wrong_arguments
from robota.commands.conversation.provider_profiles import NO_PROVIDER
from robota.commands.host import CommandHost
from robota.commands.saved_setting import save_setting
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

MODEL: Final = SlashCommandInfo(
    name="model",
    argument_hint="[NAME]",
    description="show the model, or switch to another of the same provider",
    while_working=False,
)
LANGUAGE: Final = SlashCommandInfo(
    name="language",
    argument_hint="[LANGUAGE]",
    description="set the language of answers, for this and later sessions",
    while_working=False,
)


def commands(host: CommandHost) -> Iterable[SlashCommand]:
    """`/model` and `/language`. Another model reopens the session, because context window and price change."""
    options = host.options

    async def model(arguments: str) -> CommandOutcome | Refused:
        if not arguments or not host.has_model:
            return _models(host)
        if len(arguments.split()) != 1:
            return wrong_arguments(MODEL, "A model name is a single word.")
        if arguments == options.model:
            return shown_text(f"The model is already {arguments}.")
        return SessionWanted(session_id=options.session_id, provider=options.provider_name, model=arguments)

    async def language(arguments: str) -> CommandOutcome | Refused:
        return await _language(host, arguments)

    yield SlashCommand(info=MODEL, run=model, complete=partial(_model_words, host))
    yield SlashCommand(info=LANGUAGE, run=language, complete=_language_words)


def _model_words(host: CommandHost, before: tuple[str, ...]) -> Iterable[SubcommandInfo]:
    """The models in the catalogue for the type of the provider; any other name can be typed too."""
    profile = host.settings.values.providers.get(host.options.provider_name)
    if before or profile is None:
        return
    for name, facts in catalogue().models.get(profile.type, {}).items():
        yield SubcommandInfo(name=name, description=f"{facts.context_window:,} tokens")


def _models(host: CommandHost) -> CommandOutcome:
    """The known models of the provider as a choice; the current model if none is known."""
    if not host.has_model:
        return shown_text(NO_PROVIDER)
    now = host.options.model
    known = [word for word in _model_words(host, ()) if word.name != now]
    if not known:
        return _model_shown(host)
    options = [CommandOption(label=word.name, line=f"/model {word.name}", detail=word.description) for word in known]
    options.append(CommandOption(label="another name", line="/model ", detail="any model of the provider"))
    options.append(CommandOption(label="another provider", line="/provider", detail="use or set up a profile"))
    window = f"{host.services.model.info.context_window:,} tokens"
    return CommandChoice(
        title=f"The model is {now} of {host.options.provider_name} ({window}).", options=tuple(options)
    )


def _model_shown(host: CommandHost) -> CommandOutcome:
    return fields(
        f"Model {host.options.model}",
        ("provider", host.options.provider_name),
        ("context window", f"{host.services.model.info.context_window:,} tokens"),
        ("fallback", ", ".join(host.options.settings.fallback_models) or "none"),
    )


async def _language(host: CommandHost, wanted: str) -> CommandOutcome | Refused:
    if not wanted:
        chosen = host.settings.values.language
        return shown_text(f"Answer language: {chosen}." if chosen else "No language is set: the model chooses.")
    problem = language_problem(wanted)
    if problem is not None:
        return wrong_arguments(LANGUAGE, f"{problem[0].upper()}{problem[1:]}.")
    refused = await save_setting(host, ("language",), wanted)
    return refused or SessionWanted(session_id=host.options.session_id, language=wanted)


def _language_words(before: tuple[str, ...]) -> Iterable[SubcommandInfo]:
    return (SubcommandInfo(name=code, description=name) for code, name in NAMES.items() if not before)
