"""`robota models`: list the models that the servers of the provider profiles offer."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Final

import msgspec

from robota.commands.verb import CONFIGURATION, Answer, Family, ShellVerb, VerbFailed, WrongArguments, shown_parts
from robota.commands.verb_host import VerbHost
from robota.config.arguments import Option, Positional
from robota.config.errors import ConfigError
from robota.config.profiles.profile import Profile
from robota.config.settings.load import Settings
from robota.protocol.views import SimpleView, TableView, TextView
from robota.providers.definition import OfferedModel
from robota.providers.environment_profile import current_profile, environment_profiles
from robota.providers.fault import ProviderFault
from robota.providers.model_list import list_models, with_window
from robota.providers.registry import definition, price_of
from robota.text.did_you_mean import did_you_mean
from robota.text.visible import single_line

HOW_TO_USE: Final = "To use one: --model MODEL. To make it the default: robota config set model MODEL"
MAX_NAME_LENGTH: Final = 100


class DescribedModel(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A model of a server with its known properties. Prices are in US dollars per million tokens."""

    provider: str
    model: str
    is_current: bool
    context_window: int | None = None
    input_price: float | None = None
    output_price: float | None = None


class WantedModels(msgspec.Struct, frozen=True, kw_only=True):
    """Which models are listed."""

    words: Annotated[tuple[str, ...], Positional("WORD", "show only models whose name contains these words")] = ()
    provider: Annotated[str | None, Option("show only the models of this provider profile", "NAME")] = None


async def show_models(host: VerbHost, args: WantedModels) -> Answer:
    """The models of all profiles, or of one."""
    profiles_by_name = _profiles(host.settings, host.env)
    if args.provider is not None and args.provider not in profiles_by_name:
        suggestion = did_you_mean(args.provider, profiles_by_name)
        raise WrongArguments(f"There is no provider profile {args.provider!r}.{suggestion}")
    if not profiles_by_name:
        raise VerbFailed("No provider is configured. Set one up with: robota --configure", CONFIGURATION)
    profiles = [profiles_by_name[args.provider]] if args.provider else list(profiles_by_name.values())
    models, problems = await _all_models(profiles, _current(host.settings, host.env), host.env)
    models = [model for model in models if all(word.lower() in model.model.lower() for word in args.words)]
    return _answer(models, problems)


def _profiles(settings: Settings, env: Mapping[str, str]) -> dict[str, Profile]:
    configured = settings.values.providers
    named = {name: msgspec.structs.replace(profile, name=name) for name, profile in configured.items()}
    return named or environment_profiles(settings, env)


def _current(settings: Settings, env: Mapping[str, str]) -> Profile | None:
    try:
        return current_profile(settings, env)
    except ConfigError:
        return None


async def _all_models(
    profiles: Sequence[Profile], current: Profile | None, env: Mapping[str, str]
) -> tuple[list[DescribedModel], list[str]]:
    """Ask all servers concurrently; returns the models, and a problem for each server that does not answer."""
    answers = await asyncio.gather(*(list_models(profile, env) for profile in profiles), return_exceptions=True)
    models: list[DescribedModel] = []
    problems: list[str] = []
    for profile, answer in zip(profiles, answers, strict=True):
        if isinstance(answer, ConfigError | ProviderFault):
            problems.append(f"{profile.name}: {single_line(str(answer), 500)}")
        elif isinstance(answer, BaseException):
            raise answer
        else:
            models.extend(_described(profile, model, current) for model in answer)
    return models, problems


def _described(profile: Profile, offered: OfferedModel, current: Profile | None) -> DescribedModel:
    model = offered.name
    named = with_window(msgspec.structs.replace(profile, model=model), offered.context_window)
    info = definition(profile.type).model_info(named)
    price = price_of(named, model)
    return DescribedModel(
        provider=profile.name,
        model=model,
        is_current=current is not None and (current.name, current.model) == (profile.name, model),
        context_window=None if info.assumption else info.context_window,
        input_price=None if price is None else price.input,
        output_price=None if price is None else price.output,
    )


def _answer(models: Sequence[DescribedModel], problems: Sequence[str]) -> Answer:
    rows = TableView(columns=("", "PROVIDER", "MODEL", "WINDOW", "$ PER MILLION IN/OUT"), rows=tuple(map(_row, models)))
    if models:
        parts: tuple[SimpleView, ...] = (rows, TextView(text=f"\n{HOW_TO_USE}"))
    else:
        parts = () if problems else (TextView(text="No model matches."),)
    data = {"models": models, "problems": problems}
    answer = shown_parts(parts, data, ok=bool(models) or not problems)
    return msgspec.structs.replace(answer, notices=tuple(problems))


def _row(model: DescribedModel) -> tuple[str, ...]:
    price = "" if model.input_price is None else f"{model.input_price:g} / {model.output_price:g}"
    window = "" if model.context_window is None else f"{model.context_window:,}"
    name = single_line(model.model, MAX_NAME_LENGTH)
    return "*" if model.is_current else "", model.provider, name, window, price


FAMILY: Final = Family(
    name="models",
    about="List the models that your providers offer; * marks the one in use.",
    main=ShellVerb("models", "", WantedModels, show_models),
)
