"""The options of the provider type `gemini`."""

import asyncio
import json
from typing import Any

import pytest

from robota.config.errors import ConfigError
from robota.providers.chunks import ModelRequest
from robota.providers.registry import create
from tests.fakellm.server import running
from tests.providers.conversing import reply_then_close, user
from tests.providers.vendors import profile_of


def config_for(model: str, **options: Any) -> dict[str, Any]:
    """The `generationConfig` that a model is sent."""
    asked = ModelRequest(model=model, system="", turns=(user("x"),))
    with running("hello", main="all") as fake:
        asyncio.run(reply_then_close(create(profile_of("gemini", fake.url, model=model, options=options), {}), asked))
        decoded: dict[str, Any] = json.loads(fake.last_body)
        return dict(decoded.get("generationConfig", {}))


@pytest.mark.parametrize(
    ("model", "options", "config"),
    [
        ("gemini-2.5-pro", {}, {"thinkingConfig": {"includeThoughts": True}}),
        ("gemini-9-ultra", {}, {"thinkingConfig": {"includeThoughts": True}}),
        ("gemini-2.0-flash", {}, {}),
        ("my-own", {"thinking": True}, {"thinkingConfig": {"includeThoughts": True}}),
        ("gemini-2.5-pro", {"thinking": False}, {}),
        (
            "gemini-2.5-pro",
            {"thinkingBudget": 0, "body": {"generationConfig": {"temperature": 0}}},
            {"temperature": 0, "thinkingConfig": {"includeThoughts": True, "thinkingBudget": 0}},
        ),
        (
            "gemini-3-pro-preview",
            {"thinkingLevel": "low"},
            {"thinkingConfig": {"includeThoughts": True, "thinkingLevel": "low"}},
        ),
    ],
)
def test_thinking(model: str, options: dict[str, Any], config: dict[str, Any]) -> None:
    assert config_for(model, **options) == config


def test_a_model_name_as_google_writes_it() -> None:
    asked = ModelRequest(model="models/a b/c", system="", turns=(user("x"),))
    with running("hello", main="all") as fake:
        asyncio.run(reply_then_close(create(profile_of("gemini", fake.url), {}), asked))
        assert fake.records[0]["path"].startswith("/v1beta/models/a%20b%2Fc:streamGenerateContent")


def test_a_wrong_option_is_named_before_anything_is_sent() -> None:
    with pytest.raises(ConfigError, match="generationConfig"):
        create(profile_of("gemini", "http://127.0.0.1:1", options={"body": {"generationConfig": 7}}), {})
