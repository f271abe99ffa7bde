"""`robota models`: list the models that the servers of the provider profiles offer."""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from robota.cli.command_parser import CommandParser
from robota.cli.output import print_columns, print_json
from robota.config.errors import ConfigError
from robota.config.profiles.profile import Profile
from robota.config.settings.load import Settings, load_settings
from robota.providers.environment_profile import current_profile, environment_profiles
from robota.providers.fault import ProviderFault
from robota.providers.registry import definition, price_of, ready
from robota.text.did_you_mean import did_you_mean
from robota.text.visible import single_line

DONE: Final = 0
FAILED: Final = 1
USAGE: Final = 2
CONFIGURATION: Final = 3
LIST_TIMEOUT_S: Final = 15.0
MAX_NAME_LENGTH: Final = 100


class OfferedModel(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A model of a server with its known properties. Prices are in US dollars per million tokens."""

    provider: str
    model: str
    is_current: bool
    context_window: int | None = None
    input_price: float | None = None
    output_price: float | None = None


def main(argv: Sequence[str]) -> int:
    """Run `robota models …`."""
    options = parser().parse_args(argv)
    settings = load_settings(None, os.environ)
    profiles_by_name = _profiles(settings, os.environ)
    if options.provider is not None and options.provider not in profiles_by_name:
        suggestion = did_you_mean(options.provider, profiles_by_name)
        print(f"robota: There is no provider profile {options.provider!r}.{suggestion}", file=sys.stderr)
        return USAGE
    if not profiles_by_name:
        print("robota: No provider is configured. Set one up with: robota --configure", file=sys.stderr)
        return CONFIGURATION
    current = _current(settings, os.environ)
    profiles = [profiles_by_name[options.provider]] if options.provider else list(profiles_by_name.values())
    models, problems = asyncio.run(_all_models(profiles, current, os.environ))
    if options.words:
        models = [model for model in models if all(word.lower() in model.model.lower() for word in options.words)]
    if options.json:
        print_json({"models": models, "problems": problems})
    else:
        _print(models, problems)
    return DONE if models or not problems else FAILED


def parser() -> CommandParser:
    """The argument parser of `robota models`."""
    parser = CommandParser(
        prog="robota models", description="List the models that your providers offer; * marks the one in use."
    )
    parser.add_argument("words", nargs="*", metavar="WORD", help="show only models whose name contains these words")
    parser.add_argument("--provider", metavar="NAME", help="show only the models of this provider profile")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


async def models_of(profile: Profile, env: Mapping[str, str], timeout_s: float = LIST_TIMEOUT_S) -> list[str]:
    """The models of a profile's server; only its own model if it has no list. `ConfigError` or `ProviderFault`."""
    # A profile that is being created has no model yet; it is chosen from this list.
    full = ready(msgspec.structs.replace(profile, model=profile.model or "unknown"), env)
    ask = definition(full.type).list_models
    if ask is None:
        return [profile.model] if profile.model else []
    try:
        async with asyncio.timeout(timeout_s):
            return await ask(full)
    except TimeoutError as error:
        raise ConfigError(f"No answer within {timeout_s:g} seconds.") from error


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
) -> tuple[list[OfferedModel], list[str]]:
    """Ask all servers concurrently; returns the models, and a problem for each server that does not answer."""
    answers = await asyncio.gather(*(models_of(profile, env) for profile in profiles), return_exceptions=True)
    models: list[OfferedModel] = []
    problems: list[str] = []
    for profile, answer in zip(profiles, answers, strict=True):
        if isinstance(answer, ConfigError | ProviderFault):
            problems.append(f"{profile.name}: {single_line(str(answer), 500)}")
        elif isinstance(answer, BaseException):
            raise answer
        else:
            models.extend(_described(profile, model, current) for model in answer)
    return models, problems


def _described(profile: Profile, model: str, current: Profile | None) -> OfferedModel:
    named = msgspec.structs.replace(profile, model=model)
    info = definition(profile.type).model_info(named)
    price = price_of(named, model)
    return OfferedModel(
        provider=profile.name,
        model=model,
        is_current=current is not None and (current.name, current.model) == (profile.name, model),
        context_window=None if info.assumption else info.context_window,
        input_price=None if price is None else price.input,
        output_price=None if price is None else price.output,
    )


def _print(models: Sequence[OfferedModel], problems: Sequence[str]) -> None:
    if models:
        print_columns([("", "PROVIDER", "MODEL", "WINDOW", "$ PER MILLION IN/OUT"), *map(_row, models)])
        print("\nTo use one: --model MODEL. To make it the default: robota config set model MODEL")
    elif not problems:
        print("No model matches.")
    for problem in problems:
        print(f"robota: {problem}", file=sys.stderr)


def _row(model: OfferedModel) -> tuple[str, ...]:
    price = "" if model.input_price is None else f"{model.input_price:g} / {model.output_price:g}"
    window = "" if model.context_window is None else f"{model.context_window:,}"
    name = single_line(model.model, MAX_NAME_LENGTH)
    return "*" if model.is_current else "", model.provider, name, window, price
