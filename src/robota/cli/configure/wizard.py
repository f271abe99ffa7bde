"""`--configure`: from nothing to a provider that answers, by questions made from the provider definitions."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from robota.cli.configure.models import models_of
from robota.cli.configure.provider import CONFIGURATION, DONE, FAILED, key_variable
from robota.cli.output import print_columns, print_prose
from robota.cli.questions import Cancelled, ask, ask_secret, choose, confirm
from robota.config.errors import ConfigError
from robota.config.keys.keyring_store import is_available, write_secret
from robota.config.paths import settings_path
from robota.config.profiles.profile import PROFILE_NAME, Profile
from robota.config.settings.writer import read_raw, upsert_profile
from robota.providers.definition import Probed, ProviderDefinition, SetupStep
from robota.providers.fault import ProviderFault
from robota.providers.local.discovery import discover
from robota.providers.registry import definition, definitions, ready
from robota.secrets.named_values import ENV_REFERENCE, KEYRING_REFERENCE, VARIABLE_NAME, is_reference
from robota.text.visible import single_line

LEFT: Final = 130
PROBE_SECONDS: Final = 15.0
LIST_SECONDS: Final = 10.0
MOST_SHOWN: Final = 12
LONGEST_NAME: Final = 70


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the list: a kind of provider, and what is already known for it."""

    kind: ProviderDefinition
    label: str
    base_url: str | None = None
    models: tuple[str, ...] = ()


def configure(env: Mapping[str, str], kind: str | None = None) -> int:
    """Ask, try it out, write it. Nothing is written before the last question was answered. `kind` is not asked for."""
    path = settings_path(env)
    try:
        before = read_raw(path)
        offer = _chosen_offer(env) if kind is None else _offer_of(kind)
        profile = _working(_profile(offer, env, before), offer, env)
        if profile is None:
            print("Nothing was written.")
            return FAILED
        profile = _with_kept_key(profile)
        warnings = upsert_profile(path, profile, set_current=True)
    except Cancelled:
        print("Nothing was written.")
        return LEFT
    except ConfigError as error:
        print_prose(f"robota: {error}")
        return CONFIGURATION
    _say_done(profile, path, warnings)
    return DONE


def _chosen_offer(env: Mapping[str, str]) -> Offer:
    print("Looking for model servers on this machine …")
    offers = _offers(env)
    place = choose("\nWhich provider do you want to use?", [offer.label for offer in offers])
    assert isinstance(place, int)
    return offers[place]


def _offer_of(kind: str) -> Offer:
    """The kind that was named. Raises `ConfigError` if there is none."""
    found = definition(kind)
    return Offer(kind=found, label=found.display_name)


def _offers(env: Mapping[str, str]) -> Sequence[Offer]:
    """What is at hand comes first: servers that answer, keys that are set. Then everything there is."""
    kinds = definitions()
    by_type = {kind.type: kind for kind in kinds}
    running = [
        Offer(
            kind=by_type[found.type],
            label=f"{by_type[found.type].display_name}: runs at {found.base_url} with {len(found.models)} models",
            base_url=found.base_url,
            models=found.models,
        )
        for found in discover()
    ]
    keyed = [
        Offer(kind=kind, label=f"{kind.display_name}: {variable} is set")
        for kind in kinds
        if (variable := key_variable(kind)) is not None and env.get(variable, "").strip()
    ]
    others = [Offer(kind=kind, label=f"{kind.display_name}: {kind.description}") for kind in kinds]
    return [*running, *keyed, *others]


def _profile(offer: Offer, env: Mapping[str, str], before: Mapping[str, object]) -> Profile:
    """All questions of a kind. The model comes last: by then the server can be asked which it has."""
    profile = Profile(type=offer.kind.type)
    for step in sorted(offer.kind.setup_steps, key=lambda step: step.field == "model"):
        profile = _answered(profile, step, offer, env)
    return msgspec.structs.replace(profile, name=_name(offer.kind, before))


def _answered(profile: Profile, step: SetupStep, offer: Offer, env: Mapping[str, str]) -> Profile:
    """The profile with one more question answered."""
    said = _step(step, profile, offer, env)
    written = {**msgspec.to_builtins(profile), step.field: said}
    return msgspec.convert({name: value for name, value in written.items() if value}, Profile)


def _step(step: SetupStep, profile: Profile, offer: Offer, env: Mapping[str, str]) -> str:
    if step.field == "baseURL" and offer.base_url:
        return offer.base_url
    default = step.default or offer.kind.defaults.get(step.field)
    if step.field == "model":
        models = offer.models or _offered(profile, env)
        if models:
            return pick_model(step.prompt, models, default if isinstance(default, str) else None)
    if (
        isinstance(default, str)
        and default.startswith(ENV_REFERENCE)
        and not env.get(default.removeprefix(ENV_REFERENCE))
    ):
        print_prose(f"({default.removeprefix(ENV_REFERENCE)} is not set in this shell.)")
        default = None
    while True:
        said = (ask_secret if step.secret else ask)(step.prompt, default)
        problem = _problem(step, said, env)
        if problem is None:
            return said
        print_prose(problem)


def _offered(profile: Profile, env: Mapping[str, str]) -> tuple[str, ...]:
    """The models that the server of the profile has; none if it does not tell, which the trial will explain."""
    try:
        return tuple(asyncio.run(models_of(profile, env, LIST_SECONDS)))
    except (ProviderFault, ConfigError):
        return ()


def pick_model(prompt: str, models: Sequence[str], default: str | None) -> str:
    """A model by its number, its name, or a part of the name that leads to a shorter list."""
    shown = list(models)
    while True:
        matching = f", {len(shown)} of them match" if len(shown) < len(models) else ""
        print(f"{prompt}: the server offers {len(models)}{matching}")
        listed = sorted(shown, key=lambda name: name != default)[:MOST_SHOWN]
        print_columns([(f"  {number:>2}", single_line(name, LONGEST_NAME)) for number, name in enumerate(listed, 1)])
        if len(shown) > len(listed):
            print(f"      … and {len(shown) - len(listed)} more; a part of the name shows those that have it")
        said = ask("Number or name", listed[0])
        if said.isdecimal() and 1 <= int(said) <= len(listed):
            return listed[int(said) - 1]
        near = [name for name in models if said.lower() in name.lower()]
        if said in models or not near:
            return said
        if len(near) == 1:
            return near[0]
        shown = near


def _problem(step: SetupStep, said: str, env: Mapping[str, str]) -> str | None:
    if not said:
        return "This is needed. (Ctrl-C leaves; nothing is written.)" if step.required else None
    if step.field == "baseURL" and not re.match(r"https?://[^/\s]+", said):
        return "An address begins with http:// or https://"
    if said.startswith(ENV_REFERENCE):
        variable = said.removeprefix(ENV_REFERENCE)
        if not re.fullmatch(VARIABLE_NAME, variable):
            return f"{said} does not name an environment variable."
        return None if env.get(variable) else f"{variable} is not set in this shell."
    return None


def _name(kind: ProviderDefinition, before: Mapping[str, object]) -> str:
    taken = before.get("providers")
    names = set(taken) if isinstance(taken, dict) else set()
    free = next(name for name in (kind.type, *(f"{kind.type}-{n}" for n in range(2, 1000))) if name not in names)
    while True:
        name = ask("Name of this profile", free)
        if re.fullmatch(PROFILE_NAME, name):
            return name
        print("Use letters, digits, dot, dash and underscore.")


def _working(profile: Profile, offer: Offer, env: Mapping[str, str]) -> Profile | None:
    """The profile once it answers, or as it is if the person wants it so; a wrong answer can be given again."""
    steps = offer.kind.setup_steps
    while True:
        print("Trying it …")
        try:
            print_prose(asyncio.run(probe(profile, env, PROBE_SECONDS)).text)
            return profile
        except (ProviderFault, ConfigError) as error:
            print_prose(f"It does not work: {error}")
        corrections = [f"Correct: {step.prompt.partition(',')[0]}" for step in steps]
        place = choose("What now?", [*corrections, "Keep it all the same", "Leave without writing anything"])
        assert isinstance(place, int)
        if place >= len(steps):
            return profile if place == len(steps) else None
        # What was found on this machine is what was wrong, so it is asked for.
        asked = msgspec.structs.replace(offer, base_url=None, models=())
        profile = _answered(profile, steps[place], asked, env)


async def probe(profile: Profile, env: Mapping[str, str], limit_s: float) -> Probed:
    """Whether the provider answers; raises `ConfigError` or `ProviderFault` if it does not."""
    full = ready(profile, env)
    kind = definition(full.type)
    ask_it = kind.probe_profile
    if ask_it is None:
        # Making one says at least whether everything it needs is installed.
        await kind.create_provider(full).close()
        return Probed(text="There is nobody to ask, but the profile is complete.")
    try:
        async with asyncio.timeout(limit_s):
            return await ask_it(full)
    except TimeoutError as error:
        raise ConfigError(f"There was no answer in {limit_s:g} seconds.") from error


def _with_kept_key(profile: Profile) -> Profile:
    """A key that was typed in goes to the system's keyring, if there is one and the person agrees."""
    key = profile.api_key
    if not key or is_reference(key) or not is_available():
        return profile
    if not confirm("Keep the key in the keyring of this system instead of the settings file?", default=True):
        return profile
    write_secret(profile.name, key)
    return msgspec.structs.replace(profile, api_key=f"{KEYRING_REFERENCE}{profile.name}")


def _say_done(profile: Profile, path: Path, warnings: Sequence[str]) -> None:
    for warning in warnings:
        print_prose(f"Note: {warning}")
    print_prose(f"The profile {profile.name!r} was written to {path} and is now the current one.")
