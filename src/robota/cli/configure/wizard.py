"""`--configure`: set up a provider interactively, with questions generated from the provider definitions."""

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from robota.cli.configure.provider import CONFIGURATION, DONE, FAILED
from robota.cli.output import print_columns, print_prose
from robota.cli.questions import Cancelled, ask, ask_secret, choose, confirm
from robota.commands.provider_trial import PROBE_SECONDS, probe
from robota.config.errors import ConfigError
from robota.config.keys.keyring_store import is_available, write_secret
from robota.config.paths import settings_path
from robota.config.profiles.profile import PROFILE_NAME, Profile
from robota.config.settings.writer import read_raw, upsert_profile
from robota.providers.definition import ProviderDefinition, SetupStep
from robota.providers.fault import FaultKind, ProviderFault
from robota.providers.local.discovery import discover
from robota.providers.model_list import list_models
from robota.providers.registry import definition, definitions
from robota.secrets.named_values import ENV_REFERENCE, KEYRING_REFERENCE, VARIABLE_NAME, is_reference
from robota.text.counted import counted
from robota.text.visible import single_line

INTERRUPTED: Final = 130
LIST_SECONDS: Final = 10.0
MAX_SHOWN: Final = 12
MAX_NAME_LENGTH: Final = 70
API_PATH: Final = "/v1"
# A server on this machine or in this network, without its scheme.
LOCAL_ADDRESS: Final = r"(localhost|\d{1,3}(\.\d{1,3}){3}|\[[0-9a-fA-F:]+\]|[\w-]+\.local)(:\d{1,5})?(/\S*)?"
SAVE_ANYWAY: Final = "Save it anyway"
TYPE_MODEL: Final = "Continue, and type the model's name"
QUIT: Final = "Quit without saving"
# The answer that is most likely wrong, by the kind of fault.
WRONG_FIELD: Final = {
    FaultKind.AUTHENTICATION: "apiKey",
    FaultKind.CONNECTION: "baseURL",
    FaultKind.INVALID_REQUEST: "baseURL",
    FaultKind.MODEL_NOT_FOUND: "model",
}


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the list: a kind of provider, and the values already known for it."""

    kind: ProviderDefinition
    label: str = ""
    base_url: str | None = None
    models: tuple[str, ...] = ()


class NotWanted(Exception):
    """The user quits because the profile does not work."""


def configure(env: Mapping[str, str], kind: str | None = None) -> int:
    """Ask, probe, and write. Nothing is written before the last question is answered. `kind` skips the first one."""
    path = settings_path(env)
    try:
        before = read_raw(path)
        offer = _chosen_offer(env) if kind is None else _offer_of(kind)
        answered = _profile(offer, env)
        named = msgspec.structs.replace(answered, name=_name(offer.kind, before))
        profile = _with_kept_key(_working(named, offer, env))
        warnings = upsert_profile(path, profile, set_current=True)
    except NotWanted:
        print("Nothing was written.")
        return FAILED
    except Cancelled:
        print("Nothing was written.")
        return INTERRUPTED
    except KeyboardInterrupt:
        # During a request, the terminal has printed ^C on an unfinished line.
        print("\nNothing was written.")
        return INTERRUPTED
    except ConfigError as error:
        print_prose(f"robota: {error}")
        return CONFIGURATION
    _print_saved(profile, path, warnings)
    return DONE


def _chosen_offer(env: Mapping[str, str]) -> Offer:
    """The entry that the user selects. Available ones come first: servers that answer, keys that are set."""
    print("Looking for model servers on this machine …")
    kinds = definitions()
    available = [*_running(kinds), *_keyed(kinds, env)]
    labels, names = [offer.label for offer in available], [kind.display_name for kind in kinds]
    index = choose("\nWhich provider do you want to use?", labels, names=names)
    chosen = [*available, *(Offer(kind=kind) for kind in kinds)][index]
    if not chosen.label:
        print_prose(chosen.kind.description)
    return chosen


def _offer_of(kind: str) -> Offer:
    """The entry for a kind. `ConfigError` if it does not exist."""
    return Offer(kind=definition(kind))


def _running(kinds: Sequence[ProviderDefinition]) -> Iterator[Offer]:
    by_type = {kind.type: kind for kind in kinds}
    for server in discover():
        kind = by_type[server.type]
        offer = counted(len(server.models), "model")
        label = f"{kind.display_name}: runs at {server.base_url} with {offer}"
        yield Offer(kind=kind, label=label, base_url=server.base_url, models=server.models)


def _keyed(kinds: Sequence[ProviderDefinition], env: Mapping[str, str]) -> Iterator[Offer]:
    for kind in kinds:
        variable = kind.key_variable
        if variable is not None and env.get(variable, "").strip():
            yield Offer(kind=kind, label=f"{kind.display_name}: {variable} is set")


def _profile(offer: Offer, env: Mapping[str, str]) -> Profile:
    """Ask all questions of a kind. The model comes last, when the server can be asked for its list."""
    profile = Profile(type=offer.kind.type)
    for step in _steps(offer.kind):
        if step.field == "model" and not offer.models:
            profile, models = _listing(profile, offer, env)
            offer = msgspec.structs.replace(offer, models=models)
        profile = _answered(profile, step, offer, env)
    return profile


def _steps(kind: ProviderDefinition) -> Sequence[SetupStep]:
    return sorted(kind.setup_steps, key=lambda step: step.field == "model")


def _answered(profile: Profile, step: SetupStep, offer: Offer, env: Mapping[str, str]) -> Profile:
    """The profile with one more question answered; an earlier answer that may be shown is the default."""
    written = msgspec.to_builtins(profile)
    before = None if step.secret else written.get(step.field)
    written[step.field] = _step(step, offer, env, before)
    return msgspec.convert({name: value for name, value in written.items() if value}, Profile)


def _step(step: SetupStep, offer: Offer, env: Mapping[str, str], before: str | None) -> str:
    if step.field == "baseURL" and offer.base_url:
        return offer.base_url
    default = before or step.default or offer.kind.defaults.get(step.field)
    if step.field == "model" and offer.models:
        return pick_model(step.prompt, offer.models, default if isinstance(default, str) else None)
    if (
        isinstance(default, str)
        and default.startswith(ENV_REFERENCE)
        and not env.get(default.removeprefix(ENV_REFERENCE))
    ):
        print_prose(f"({default.removeprefix(ENV_REFERENCE)} is not set in this shell.)")
        default = None
    while True:
        answer = (ask_secret if step.secret else ask)(step.prompt, default)
        if step.field == "baseURL" and re.fullmatch(LOCAL_ADDRESS, answer):
            answer = f"http://{answer}"
            print(f"({answer})")
        problem = _problem(step, answer, env)
        if problem is None:
            return answer
        print_prose(problem)


def _listing(profile: Profile, offer: Offer, env: Mapping[str, str]) -> tuple[Profile, tuple[str, ...]]:
    """The profile, corrected if necessary, and the models that its server lists."""
    if offer.kind.list_models is None:
        return profile, ()
    earlier_steps = [step for step in _steps(offer.kind) if step.field != "model"]
    while True:
        print("Asking the server for its models …")
        try:
            return profile, _models_of(profile, env)
        except (ProviderFault, ConfigError) as error:
            fault = error
        if (longer := _with_api_path(profile, env)) is not None:
            return longer
        print_prose(f"The server could not list its models: {fault}")
        corrected = _corrected(profile, offer, env, fault, earlier_steps)
        if corrected is None:
            return profile, ()
        profile = corrected


def _models_of(profile: Profile, env: Mapping[str, str]) -> tuple[str, ...]:
    models = tuple(model.name for model in asyncio.run(list_models(profile, env, LIST_SECONDS)))
    if not models:
        print_prose("The server lists no models. Load one there, or type the name of one that it accepts.")
    return models


def _with_api_path(profile: Profile, env: Mapping[str, str]) -> tuple[Profile, tuple[str, ...]] | None:
    """The profile with `/v1`, which is often forgotten, added to its address, and the models; None if that fails."""
    if not profile.base_url or API_PATH in profile.base_url:
        return None
    longer = msgspec.structs.replace(profile, base_url=profile.base_url.rstrip("/") + API_PATH)
    try:
        models = _models_of(longer, env)
    except (ProviderFault, ConfigError):
        return None
    print_prose(
        f"There is no model server at {profile.base_url}, but there is one at {longer.base_url}: that address is used."
    )
    return longer, models


def _corrected(
    profile: Profile,
    offer: Offer,
    env: Mapping[str, str],
    fault: ProviderFault | ConfigError | None,
    steps: Sequence[SetupStep],
) -> Profile | None:
    """The profile with one answer changed; None if the user keeps it. Raises `NotWanted`."""
    likely = "model" if fault is None else WRONG_FIELD.get(fault.kind) if isinstance(fault, ProviderFault) else None
    fields = [step.field for step in steps]
    options = [f"Correct: {step.prompt.partition(',')[0]}" for step in steps]
    without_change = SAVE_ANYWAY if "model" in fields else TYPE_MODEL
    index = choose(
        "What now?", [*options, without_change, QUIT], default=fields.index(likely) if likely in fields else 0
    )
    if index > len(steps):
        raise NotWanted
    if index == len(steps):
        return None
    # The value found on this machine did not work, so it is asked for.
    unanswered = msgspec.structs.replace(offer, base_url=None, models=())
    if fields[index] == "model":
        profile, models = _listing(profile, unanswered, env)
        unanswered = msgspec.structs.replace(unanswered, models=models)
    return _answered(profile, steps[index], unanswered, env)


def pick_model(prompt: str, models: Sequence[str], default: str | None) -> str:
    """Let the user select a model by number, name, or a part of the name, which gives a shorter list."""
    shown = list(models)
    while True:
        matching = f", {len(shown)} of them match" if len(shown) < len(models) else ""
        print(f"{prompt}: the server offers {counted(len(models), 'model')}{matching}")
        listed = sorted(shown, key=lambda name: name != default)[:MAX_SHOWN]
        print_columns([(f"  {number:>2}", single_line(name, MAX_NAME_LENGTH)) for number, name in enumerate(listed, 1)])
        if len(shown) > len(listed):
            print(f"      … and {len(shown) - len(listed)} more; type part of a name to search")
        answer = ask("Number or name", listed[0])
        if answer.isdecimal() and 1 <= int(answer) <= len(listed):
            return listed[int(answer) - 1]
        matches = [name for name in models if answer.lower() in name.lower()]
        if answer in models or not matches:
            return answer
        if len(matches) == 1:
            return matches[0]
        shown = matches


def _problem(step: SetupStep, answer: str, env: Mapping[str, str]) -> str | None:
    if not answer:
        return "An answer is required. (Ctrl+C quits without saving.)" if step.required else None
    if step.field == "baseURL" and not re.match(r"https?://[^/\s]+", answer):
        return "The address must start with http:// or https://"
    if answer.startswith(ENV_REFERENCE):
        variable = answer.removeprefix(ENV_REFERENCE)
        if not re.fullmatch(VARIABLE_NAME, variable):
            return f"{answer} is not a valid environment variable name."
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
        print("Use letters, digits, '.', '-' and '_'.")


def _working(profile: Profile, offer: Offer, env: Mapping[str, str]) -> Profile:
    """The profile when its provider answers, or when the user keeps it anyway; wrong answers can be corrected."""
    while True:
        print("Testing the connection …")
        fault: ProviderFault | ConfigError | None = None
        try:
            probed = asyncio.run(probe(profile, env, PROBE_SECONDS))
            print_prose(probed.text)
            if probed.offers_model:
                return profile
        except (ProviderFault, ConfigError) as error:
            fault = error
            print_prose(f"It did not work: {fault}")
        corrected = _corrected(profile, offer, env, fault, _steps(offer.kind))
        if corrected is None:
            return profile
        profile = corrected


def _with_kept_key(profile: Profile) -> Profile:
    """Move a typed key to the system's keyring, if there is one and the user agrees."""
    key = profile.api_key
    if not key or is_reference(key) or not is_available():
        return profile
    if not confirm("Store the key in the system keyring instead of the settings file?", default=True):
        return profile
    write_secret(profile.name, key)
    return msgspec.structs.replace(profile, api_key=f"{KEYRING_REFERENCE}{profile.name}")


def _print_saved(profile: Profile, path: Path, warnings: Sequence[str]) -> None:
    for warning in warnings:
        print_prose(f"Note: {warning}")
    print_prose(f"Saved profile {profile.name!r} to {path}; it is now the current provider.")
    print('Try it: robota -p "Say hello."')
