"""What is known of models, what a reply costs, and what happens with a model nobody has heard of."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from robota.config.errors import ConfigError
from robota.config.profiles.profile import Profile
from robota.protocol.conversation import Usage
from robota.providers.catalogue import catalogue, edit_format_of, lookup
from robota.providers.chunks import EditFormat, UsageChunk
from robota.providers.pricing import Price, cost
from robota.providers.registry import DEFINITIONS, create, definition, ready
from tests.fakellm.server import running
from tests.providers.conversing import reply_then_close, request

OVERRIDE = {"my-model": {"contextWindow": 9000, "price": {"input": 1, "output": 2}}}


def test_every_entry_makes_sense() -> None:
    data = catalogue()
    assert set(data.models) <= {*DEFINITIONS, "anthropic", "openai", "gemini"}
    assert sum(map(len, data.models.values())) >= 40
    for section in data.models.values():
        for name, facts in section.items():
            assert facts.context_window >= 8_000, name
            assert facts.max_output_tokens is None or facts.max_output_tokens <= facts.context_window, name
            if facts.price is not None:
                assert 0 < facts.price.input <= facts.price.output, name
                assert (facts.price.cache_read or 0) <= facts.price.input, name


@pytest.mark.parametrize(
    ("type", "model", "window"),
    [
        ("anthropic", "claude-sonnet-4-5", 200_000),
        ("anthropic", "claude-sonnet-4-5-20250929", 200_000),
        ("anthropic", "claude-opus-4-1-20250805", 200_000),
        ("anthropic", "claude-opus-4-6", 1_000_000),
        ("openai", "gpt-4.1-mini-2025-04-14", 1_047_576),
        ("openai", "gpt-4o-2024-08-06", 128_000),
        ("mistral", "codestral-latest", 256_000),
        ("gemini", "gemini-2.5-pro-preview-05-06", 1_048_576),
    ],
)
def test_a_dated_or_tagged_name_is_the_same_model(type: str, model: str, window: int) -> None:
    entry = lookup(type, model)
    assert entry.is_known and entry.facts.context_window == window and entry.facts.price is not None


@pytest.mark.parametrize("model", ["gpt-4", "gpt-4o-audio", "claude-opus-4-1x", "llama", "", "-latest"])
def test_a_like_name_is_not_the_same_model(model: str) -> None:
    assert not lookup("openai", model).is_known


def test_another_host_has_the_same_model_at_an_unknown_price() -> None:
    entry = lookup("openai-compatible", "vendor/gpt-4o")
    assert entry.is_known and entry.facts.images and entry.facts.price is None


def test_the_settings_add_and_correct_models() -> None:
    added = lookup("ollama", "my-model", OVERRIDE)
    assert added.is_known and added.facts.context_window == 9000
    corrected = lookup("openai", "gpt-4o", {"gpt-4o": {"maxOutputTokens": 5}})
    assert corrected.facts.max_output_tokens == 5 and corrected.facts.context_window == 128_000


@pytest.mark.parametrize("told", [{"contextWindow": "big"}, {"window": 5}, 7, {"price": {"input": 1}}])
def test_a_wrong_entry_is_named_before_anything_is_sent(told: Any) -> None:
    profile = Profile(type="ollama", name="mine", model="m", options={"models": {"m": told}})
    with pytest.raises(ConfigError, match=r"models\.m .*Nothing was sent"):
        ready(profile, {})


def test_an_unknown_model_works_with_defaults_that_no_session_tells_of() -> None:
    """Only doctor and the set-up mention them."""
    profile = ready(Profile(type="openai-compatible", name="x", base_url="http://h", model="new-thing"), {})
    info = definition(profile.type).model_info(profile)
    assert info.context_window == 128_000 and info.native_tools
    assert info.assumption is not None and "providers.x.options.models" in info.assumption and info.notice is None


@pytest.mark.parametrize("options", [{"contextWindow": 5000}, {"models": {"new-thing": {}}}])
def test_a_model_that_the_user_described_needs_no_notice(options: dict[str, Any]) -> None:
    profile = Profile(type="openai-compatible", name="x", base_url="http://h", model="new-thing", options=options)
    assert definition(profile.type).model_info(ready(profile, {})).assumption is None


def test_models_of_the_settings_reach_every_profile_and_its_own_come_first() -> None:
    profile = Profile(type="openai-compatible", name="x", base_url="http://h", model="my-model")
    assert definition(profile.type).model_info(ready(profile, {}, OVERRIDE)).context_window == 9000
    own = replace(profile, options={"models": {"my-model": {"contextWindow": 77}}})
    assert definition(own.type).model_info(ready(own, {}, OVERRIDE)).context_window == 77


def test_cost_counts_cache_reads_and_writes_at_their_own_price() -> None:
    price = Price(input=3, output=15, cache_read=0.3, cache_write=3.75)
    usage = Usage(
        input_tokens=1000, output_tokens=100, cache_read_input_tokens=10_000, cache_creation_input_tokens=2_000
    )
    assert cost(usage, price) == pytest.approx(0.003 + 0.0015 + 0.003 + 0.0075)
    assert cost(usage, Price(input=3, output=15)) == pytest.approx(0.003 + 0.0015 + 0.03 + 0.006)
    assert cost(usage, None) is None


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_cost_grows_with_use_and_is_never_negative(input_tokens: int, output_tokens: int) -> None:
    price = Price(input=1, output=2)
    total = cost(Usage(input_tokens=input_tokens, output_tokens=output_tokens), price)
    assert total is not None and total >= 0
    assert total <= (cost(Usage(input_tokens=input_tokens + 1, output_tokens=output_tokens), price) or 0)


def test_a_reply_carries_its_cost_at_the_price_of_the_model_that_was_asked() -> None:
    """The second model is a fallback: another price, the same provider."""
    models = {"fake-model": {"price": {"input": 1, "output": 0}}, "other": {"price": {"input": 5, "output": 0}}}

    def paid(model: str) -> tuple[int, float | None]:
        with running("hello") as fake:
            profile = Profile(
                type="openai-compatible", base_url=f"{fake.url}/v1", model="fake-model", options={"models": models}
            )
            chunks = asyncio.run(reply_then_close(create(profile, {}), replace(request(), model=model)))
        (usage,) = [chunk for chunk in chunks if isinstance(chunk, UsageChunk)]
        return usage.usage.input_tokens, usage.cost

    tokens, price = paid("fake-model")
    assert price == pytest.approx(tokens / 1_000_000)
    tokens, price = paid("other")
    assert price == pytest.approx(5 * tokens / 1_000_000)
    assert paid("unpriced")[1] is None


@pytest.mark.parametrize(
    ("model", "form"),
    [
        ("gpt-5", EditFormat.PATCH),
        ("gpt-5.1-codex", EditFormat.PATCH),
        ("openai/gpt-5.6-mini", EditFormat.PATCH),
        ("codex-mini-latest", EditFormat.PATCH),
        ("GPT-10", EditFormat.PATCH),
        ("openai/gpt-oss-120b", EditFormat.REPLACE),
        ("gpt-4.1", EditFormat.REPLACE),
        ("gpt-4o", EditFormat.REPLACE),
        ("claude-opus-4-6", EditFormat.REPLACE),
        ("gemini-3-pro-preview", EditFormat.REPLACE),
        ("", EditFormat.REPLACE),
    ],
)
def test_a_model_edits_in_the_format_that_it_was_trained_on(model: str, form: EditFormat) -> None:
    assert edit_format_of(model) is form


def test_the_format_of_edits_can_be_set_for_a_model_and_for_a_profile() -> None:
    by_model = Profile(type="openai", model="gpt-5", options={"models": {"gpt-5": {"editFormat": "diff"}}})
    by_profile = Profile(type="openai", model="gpt-5", options={"editFormat": "replace"})
    info = definition("openai").model_info
    assert info(Profile(type="openai", model="gpt-5")).edit_format is EditFormat.PATCH
    assert info(by_model).edit_format is EditFormat.DIFF
    assert info(by_profile).edit_format is EditFormat.REPLACE
