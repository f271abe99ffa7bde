"""The profile of a session, or, where none is configured, one made from an API key in the environment."""

from collections.abc import Mapping

from robota.config.errors import NoProviderError
from robota.config.profiles.choice import profile_problem, select_profile, with_chosen_model
from robota.config.profiles.profile import Profile
from robota.config.settings.load import Settings
from robota.providers.definition import ProviderDefinition
from robota.providers.registry import canonical, definition, definitions


def current_profile(settings: Settings, env: Mapping[str, str]) -> Profile:
    """The profile that the settings choose. Without any profile, the provider whose key is set in the environment.

    So a script needs no set-up beyond the key. With several keys nothing is guessed: `--provider TYPE` chooses.
    """
    profiles = environment_profiles(settings, env)
    if len(profiles) == 1:
        return next(iter(profiles.values()))
    try:
        return select_profile(settings)
    except NoProviderError as error:
        if not profiles:
            raise
        keys = ", ".join(str(definition(type).key_variable) for type in profiles)
        flags = " or ".join(f"--provider {type}" for type in profiles)
        raise NoProviderError(f"{error}\nSeveral API keys are set ({keys}). To use one of them: {flags}") from error


def environment_profiles(settings: Settings, env: Mapping[str, str]) -> dict[str, Profile]:
    """A profile for each provider whose key is set, under the name of its type.

    Empty if profiles are configured, even invalid ones: a mistake in the settings must not select another account.
    """
    if settings.values.providers or profile_problem(settings) is not None:
        return {}
    chosen_type = canonical(settings.values.current_provider or "")
    return {
        kind.type: with_chosen_model(settings, _profile(kind, env))
        for kind in definitions()
        if kind.key_variable and env.get(kind.key_variable, "").strip() and chosen_type in ("", kind.type)
    }


def _profile(kind: ProviderDefinition, env: Mapping[str, str]) -> Profile:
    """The address comes from the variable that the vendors' own programs read, such as ANTHROPIC_BASE_URL."""
    address = str(kind.key_variable).replace("_API_KEY", "_BASE_URL")
    return Profile(type=kind.type, name=kind.type, base_url=env.get(address, "").strip() or None)
