"""Provider types by name, and what a profile must hold."""

import pytest

from robota.config.errors import ConfigError
from robota.config.profiles.profile import Profile
from robota.providers.registry import ALIASES, DEFINITIONS, create, definition, definitions, ready


def test_types_and_aliases_lead_to_the_same_definition() -> None:
    assert definition("openai-compat") is definition("openai-compatible")
    assert [kind.type for kind in definitions()] == list(DEFINITIONS)
    assert {alias: kind.type for kind in definitions() for alias in kind.aliases} == ALIASES


def test_an_unknown_type_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"openai-compatible, .*scripted"):
        definition("telepathy")


def test_what_is_missing_is_named_with_the_command_that_adds_it() -> None:
    with pytest.raises(ConfigError, match=r"no baseURL and no model.*--base-url URL --model MODEL"):
        create(Profile(type="openai-compatible", name="x"), {})


def test_a_key_is_resolved_or_refused_before_anything_is_sent() -> None:
    profile = Profile(type="openai-compatible", name="x", base_url="http://h", model="m", api_key="$ENV:MY_KEY")
    assert ready(profile, {"MY_KEY": " sk-1\n"}).api_key == "sk-1"
    with pytest.raises(ConfigError, match="MY_KEY"):
        create(profile, {})


def test_defaults_of_the_type_fill_what_the_profile_leaves_out() -> None:
    assert ready(Profile(type="scripted"), {}).model == "scripted"
    assert ready(Profile(type="scripted", model="own"), {}).model == "own"
