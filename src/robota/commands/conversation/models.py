"""Commands about the model and the language of its answers."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Final

import msgspec

from robota.commands.command import SlashCommand, shown_text, wrong_arguments
from robota.commands.conversation.provider_profiles import NO_PROVIDER
from robota.commands.effect import Effect, MakesChanges, Reads, reads, reads_only
from robota.commands.host import CommandHost
from robota.commands.saved_setting import save_setting
from robota.config.errors import ConfigError
from robota.config.profiles.announced_models import announced_models
from robota.config.profiles.profile import Profile
from robota.config.settings.languages import NAMES, language_problem
from robota.config.settings.schema import Effort
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
from robota.providers.definition import OfferedModel
from robota.providers.environment_profile import environment_profiles
from robota.providers.fault import ProviderFault
from robota.providers.model_list import list_models, with_announced_window, with_window
from robota.providers.registry import can_think, definition, price_of, ready, with_defaults
from robota.text.visible import single_line

KEEP: Final = "--default"
LIST_TIMEOUT_S: Final = 5.0
MAX_PROBLEM_LENGTH: Final = 300
EFFORTS: Final = {
    Effort.DEFAULT: "as its profile or its server says",
    Effort.LOW: "fast and cheap",
    Effort.MEDIUM: "for most tasks",
    Effort.HIGH: "for hard problems; slower, and more tokens",
}
MODEL: Final = SlashCommandInfo(
    name="model",
    argument_hint=f"[NAME [{KEEP}]]",
    description=f"list the models of the provider, or switch to one; {KEEP} keeps it for later sessions",
    while_working=False,
)
EFFORT: Final = SlashCommandInfo(
    name="effort",
    argument_hint="[low | medium | high | default]",
    description="show or set how much the model thinks before it answers",
    while_working=False,
)
LANGUAGE: Final = SlashCommandInfo(
    name="language",
    argument_hint="[LANGUAGE]",
    description="set the language of answers, for this and later sessions",
    while_working=False,
)


def commands(host: CommandHost) -> Iterable[SlashCommand]:
    """`/model`, `/effort` and `/language`. What changes the requests reopens the session."""
    options = host.options

    async def model(arguments: str) -> CommandOutcome | Refused:
        if not host.has_model:
            return shown_text(NO_PROVIDER)
        match arguments.split():
            case []:
                return await _choice(host)
            case [name] if name == options.model and _announced_other_window(host) is None:
                return shown_text(f"The model is already {name}. To keep it for later sessions: /model {name} {KEEP}")
            case [name] if name != KEEP:
                return SessionWanted(session_id=options.session_id, provider=options.provider_name, model=name)
            case [name, "--default"]:
                return await _save_as_default(host, name)
            case _:
                return wrong_arguments(MODEL, "A model name is a single word.")

    async def language(arguments: str) -> CommandOutcome | Refused:
        return await _language(host, arguments)

    async def effort(arguments: str) -> CommandOutcome | Refused:
        return _effort(host, arguments)

    yield SlashCommand(info=MODEL, run=model, effect=_effect_of_model, complete=partial(_model_words, host))
    yield SlashCommand(info=EFFORT, run=effort, effect=reads, complete=_effort_words)
    yield SlashCommand(
        info=LANGUAGE,
        run=language,
        effect=reads_only("", instead="robota config set language LANGUAGE"),
        complete=_language_words,
    )


def _effect_of_model(arguments: str) -> Effect:
    return MakesChanges("robota config set model NAME") if KEEP in arguments.split() else Reads()


def _effort(host: CommandHost, typed: str) -> CommandOutcome | Refused:
    """Another effort reopens the session, as another model does."""
    options, profile, now = host.options, _profile(host), host.settings.values.effort
    if profile is None or not host.has_model:
        return shown_text(NO_PROVIDER)
    named = msgspec.structs.replace(profile, model=options.model)
    if not definition(profile.type).efforts or not can_think(named):
        return shown_text(f"{options.model} of {options.provider_name} has no setting for how much it thinks.")
    if not typed:
        choices = [
            CommandOption(label=each, line=f"/effort {each}", detail=EFFORTS[each], is_current=each is now)
            for each in Effort
        ]
        title = f"{options.model} thinks with {now} effort. To keep one for later sessions: /config set effort high"
        return CommandChoice(title=title, options=tuple(choices))
    if typed not in set(Effort):
        return wrong_arguments(EFFORT, f"There is no effort {typed!r}.")
    if typed == now:
        return shown_text(f"The effort is already {typed}.")
    return SessionWanted(
        session_id=options.session_id, provider=options.provider_name, model=options.model, effort=typed
    )


def _effort_words(before: tuple[str, ...]) -> Iterable[SubcommandInfo]:
    return (SubcommandInfo(name=each, description=EFFORTS[each]) for each in Effort if not before)


async def _save_as_default(host: CommandHost, name: str) -> CommandOutcome | Refused:
    """Save the model in the profile, or for all profiles if the settings do so already. Then switch to it."""
    options, values = host.options, host.settings.values
    is_in_profile = options.provider_name in values.providers and values.model is None
    key = ("providers", options.provider_name, "model") if is_in_profile else ("model",)
    refused = await save_setting(host, key, name)
    if refused is not None:
        return refused
    if name == options.model:
        return shown_text(f"{name} is the default model now.")
    return SessionWanted(session_id=options.session_id, provider=options.provider_name, model=name)


def _model_words(host: CommandHost, before: tuple[str, ...]) -> Iterable[SubcommandInfo]:
    """The known models of the provider; any other name can be typed too."""
    profile = _profile(host)
    if before or profile is None:
        return ()
    models = _known_models(profile, host.env)
    return (SubcommandInfo(name=model.name, description=_facts(profile, model)) for model in models)


async def _choice(host: CommandHost) -> CommandOutcome:
    """The models that the server lists. If it does not answer, those that are known, with the reason."""
    profile, now = _profile(host), host.options.model
    models: Sequence[OfferedModel] = ()
    window = f"{host.services.model.info.context_window:,} tokens"
    title = f"The model is {now} of {host.options.provider_name} ({window})."
    if profile is not None:
        try:
            models = await list_models(profile, host.env, LIST_TIMEOUT_S)
        except (ConfigError, ProviderFault) as error:
            models = await asyncio.to_thread(_known_models, profile, host.env)
            title = f"{title} Its server could not list models: {single_line(str(error), MAX_PROBLEM_LENGTH)}"
    if (announced := _announced_other_window(host)) is not None:
        title = f"{title} Its server says {announced:,}: choose it to use that."
    options = [
        CommandOption(
            label=model.name,
            line=f"/model {model.name}",
            detail=_detail(profile, model, now),
            is_current=model.name == now,
        )
        for model in models
        if profile is not None
    ]
    options.append(CommandOption(label="another name", line="/model ", detail="any model of the provider"))
    options.append(CommandOption(label="another provider", line="/provider", detail="use or set up a profile"))
    return CommandChoice(title=title, options=tuple(options))


def _detail(profile: Profile, model: OfferedModel, now: str) -> str:
    return ", ".join(part for part in (_facts(profile, model), "in use" if model.name == now else "") if part)


def _announced_other_window(host: CommandHost) -> int | None:
    """The window that the server has announced for the model, if the session was opened with another one."""
    profile = _profile(host)
    if profile is None:
        return None
    try:
        named = ready(msgspec.structs.replace(profile, model=host.options.model), host.env, host.settings.values.models)
    except ConfigError:
        return None
    window = definition(named.type).model_info(with_announced_window(named, host.env)).context_window
    return None if window == host.services.model.info.context_window else window


def _known_models(profile: Profile, env: Mapping[str, str]) -> Sequence[OfferedModel]:
    """The models that the server listed before, else those in the catalogue."""
    windows = announced_models(with_defaults(profile, definition(profile.type)).base_url, env)
    if windows:
        return [OfferedModel(name=name, context_window=window) for name, window in windows.items()]
    return [OfferedModel(name=name) for name in catalogue().models.get(profile.type, {})]


def _profile(host: CommandHost) -> Profile | None:
    name, profiles = host.options.provider_name, host.settings.values.providers
    profile = profiles.get(name) or environment_profiles(host.settings, host.env).get(name)
    return None if profile is None else msgspec.structs.replace(profile, name=name)


def _facts(profile: Profile, offered: OfferedModel) -> str:
    """The known facts about a model: its context window, and its price per million tokens."""
    named = with_window(msgspec.structs.replace(profile, model=offered.name), offered.context_window)
    info, price = definition(profile.type).model_info(named), price_of(named, offered.name)
    window = "" if info.assumption else f"{info.context_window:,} tokens"
    cost = "" if price is None or not (price.input or price.output) else f"${price.input:g} in, ${price.output:g} out"
    return ", ".join(part for part in (window, cost) if part)


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
