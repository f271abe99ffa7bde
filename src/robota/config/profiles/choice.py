"""Selects the provider profile from the settings."""

from typing import Final

import msgspec

from robota.config.errors import ConfigError, NoProviderError
from robota.config.profiles.profile import Profile
from robota.config.settings.key_path import join_key, split_key
from robota.config.settings.layers import CLAUDE_LAYERS, Layer
from robota.config.settings.load import Settings
from robota.config.settings.problems import SettingsProblem
from robota.text.visible import single_line

HOW_TO_ADD: Final = "robota --configure (or, without questions, robota --configure-provider NAME --type TYPE …)"


def select_profile(settings: Settings) -> Profile:
    """The current profile, or else the only one, with the effective model."""
    providers = settings.values.providers
    name = settings.values.current_provider
    if name is None and len(providers) == 1:
        name = next(iter(providers))
    if name is None:
        raise _nothing_chosen(settings)
    profile = providers.get(name)
    if profile is None:
        raise _no_such_profile(settings, name)
    return with_chosen_model(settings, msgspec.structs.replace(profile, name=name))


def with_chosen_model(settings: Settings, profile: Profile) -> Profile:
    """The profile with the model that the settings or the command line name, if they name one."""
    origin = settings.origin(("model",))
    if origin is None or (origin.layer in CLAUDE_LAYERS and profile.model):
        # That file names models of another product, which must not override the model of a profile.
        return profile
    return msgspec.structs.replace(profile, model=settings.values.model)


def profile_problem(settings: Settings) -> SettingsProblem | None:
    """The problem with the profiles in the settings or the choice between them, if there is one."""
    for problem in settings.problems:
        if problem.key and split_key(problem.key.partition("[")[0])[0] in ("currentProvider", "providers"):
            return problem
    return None


def _nothing_chosen(settings: Settings) -> ConfigError:
    if (problem := profile_problem(settings)) is not None:
        return ConfigError(f"No provider can be chosen. {problem.message} The file was not changed.")
    names = ", ".join(sorted(settings.values.providers))
    if names:
        return ConfigError(f"No provider is chosen. Choose one with --provider: {names}. Add one with: {HOW_TO_ADD}")
    return NoProviderError(f"No provider is configured. Set one up with: robota --configure{_ignored(settings)}")


def _no_such_profile(settings: Settings, name: str) -> ConfigError:
    wrong = join_key(("providers", name))
    for problem in settings.problems:
        if problem.key == wrong or problem.key.startswith(f"{wrong}."):
            return ConfigError(f"{problem.message} The file was not changed. Correct it and try again.")
    names = ", ".join(sorted(settings.values.providers)) or "none"
    origin = settings.origin(("currentProvider",))
    by_flag = origin is None or origin.layer is Layer.FLAGS
    where = "" if by_flag or origin is None else f" (named by currentProvider, {origin.where})"
    text = f"There is no provider profile {single_line(name)!r}{where}. Known: {names}. Add one with: {HOW_TO_ADD}"
    return ConfigError(f"{text}{_ignored(settings)}")


def _ignored(settings: Settings) -> str:
    """A note about ignored settings of the workspace, which often contain the missing profile."""
    return "".join(f"\n{line}" for line in settings.ignored if "provider" in line.lower())
