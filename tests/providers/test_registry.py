"""Provider types by name, and what a profile must hold."""

from typing import Any

import pytest

from robota.config.errors import ConfigError
from robota.config.profiles.profile import Profile
from robota.config.settings.schema import Effort
from robota.providers.catalogue import catalogue
from robota.providers.registry import ALIASES, DEFINITIONS, create, definition, definitions, ready, with_effort


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


@pytest.mark.parametrize(
    ("type", "model", "options"),
    [
        ("anthropic", "claude-sonnet-4-6", {"thinkingBudget": 24_576}),
        ("claude", "claude-of-tomorrow", {"thinkingBudget": 24_576}),
        ("openai", "gpt-5", {"reasoningEffort": "high"}),
        ("openai", "gpt-4.1", {}),
        ("gemini", "gemini-2.5-pro", {"thinkingBudget": 24_576}),
        ("openrouter", "somebody/thinker", {"reasoningEffort": "high"}),
        ("scripted", "scripted", {}),
    ],
)
def test_an_effort_is_an_option_of_the_type_and_only_for_models_that_may_think(
    type: str, model: str, options: dict[str, Any]
) -> None:
    profile = Profile(type=type, model=model, options={"timeout": 1})
    assert with_effort(profile, Effort.HIGH).options == {"timeout": 1, **options}
    assert with_effort(profile, Effort.DEFAULT) == profile


def test_an_effort_of_thinking_leaves_room_for_the_answer_of_every_model() -> None:
    for type, models in catalogue().models.items():
        for effort in definition(type).efforts.values():
            limits = [
                facts.max_output_tokens for facts in models.values() if facts.thinking and facts.max_output_tokens
            ]
            assert all(effort.get("thinkingBudget", 0) < limit for limit in limits)
