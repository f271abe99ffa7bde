"""`--configure`: from nothing to a provider that answers, by questions made from the provider definitions."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from robota.cli.configure.provider import CONFIGURATION, DONE, FAILED, key_variable
from robota.cli.questions import Cancelled, ask, ask_secret, choose, confirm
from robota.config.errors import ConfigError
from robota.config.keys.keyring_store import is_available, write_secret
from robota.config.paths import settings_path
from robota.config.profiles.profile import PROFILE_NAME, Profile
from robota.config.settings.languages import NAMES, language_problem
from robota.config.settings.writer import read_raw, set_value, upsert_profile
from robota.providers.definition import Probed, ProviderDefinition, SetupStep
from robota.providers.fault import ProviderFault
from robota.providers.local.discovery import discover
from robota.providers.registry import definition, definitions, ready
from robota.secrets.named_values import ENV_REFERENCE, KEYRING_REFERENCE, VARIABLE_NAME, is_reference

LEFT: Final = 130
PROBE_SECONDS: Final = 15.0
DEFAULT_LANGUAGE: Final = "en"


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the list: a kind of provider, and what is already known for it."""

    kind: ProviderDefinition
    label: str
    base_url: str | None = None
    models: tuple[str, ...] = ()


def configure(env: Mapping[str, str]) -> int:
    """Ask, try it out, write it. Nothing is written before the last question was answered."""
    path = settings_path(env)
    try:
        before = read_raw(path)
        offer = _chosen_offer(env)
        profile = _profile(offer, env, before)
        if not _works(profile, env):
            print("Nothing was written.")
            return FAILED
        language = _language(before)
        profile = _with_kept_key(profile)
        warnings = upsert_profile(path, profile, set_current=True)
        set_value(path, ["language"], language)
    except Cancelled:
        print("Nothing was written.")
        return LEFT
    except ConfigError as error:
        print(f"robota: {error}")
        return CONFIGURATION
    _say_done(profile, path, warnings)
    return DONE


def _chosen_offer(env: Mapping[str, str]) -> Offer:
    print("Looking for model servers on this machine …")
    offers = _offers(env)
    place = choose("\nWhich provider do you want to use?", [offer.label for offer in offers])
    assert isinstance(place, int)
    return offers[place]


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
    fields: dict[str, str] = {}
    for step in offer.kind.setup_steps:
        said = _step(step, offer, env)
        if said:
            fields[step.field] = said
    return msgspec.convert({"type": offer.kind.type, "name": _name(offer.kind, before), **fields}, Profile)


def _step(step: SetupStep, offer: Offer, env: Mapping[str, str]) -> str:
    if step.field == "baseURL" and offer.base_url:
        return offer.base_url
    if step.field == "model" and offer.models:
        said = choose(step.prompt, offer.models, free=True)
        return offer.models[said] if isinstance(said, int) else said
    default = step.default or offer.kind.defaults.get(step.field)
    if (
        isinstance(default, str)
        and default.startswith(ENV_REFERENCE)
        and not env.get(default.removeprefix(ENV_REFERENCE))
    ):
        print(f"({default.removeprefix(ENV_REFERENCE)} is not set in this shell.)")
        default = None
    while True:
        said = (ask_secret if step.secret else ask)(step.prompt, default)
        problem = _problem(step, said, env)
        if problem is None:
            return said
        print(problem)


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


def _works(profile: Profile, env: Mapping[str, str]) -> bool:
    """Whether it answers, or the person wants it all the same."""
    print("Trying it …")
    try:
        print(asyncio.run(probe(profile, env, PROBE_SECONDS)).text)
        return True
    except (ProviderFault, ConfigError) as error:
        print(f"It does not work: {error}")
    return confirm("Keep it all the same?", default=False)


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


def _language(before: Mapping[str, object]) -> str:
    current = before.get("language")
    default = current if isinstance(current, str) and language_problem(current) is None else DEFAULT_LANGUAGE
    known = ", ".join(code for code in NAMES if code in ("en", "ko", "ja", "zh", "de", "es", "fr"))
    while True:
        language = ask(f"Language of the answers ({known}, or a name)", default)
        problem = language_problem(language)
        if problem is None:
            return language
        print(f"That is no language: {problem}.")


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
        print(f"Note: {warning}")
    print(f"The profile {profile.name!r} was written to {path} and is now the current one.")
    print('Try it: robota -p "Say hello."')
