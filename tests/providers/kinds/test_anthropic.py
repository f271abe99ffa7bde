"""The options of the provider type `anthropic`."""

import asyncio
import json
from typing import Any

import pytest

from robota.config.errors import ConfigError
from robota.providers.kinds.anthropic import model_info
from robota.providers.registry import create
from tests.fakellm.server import running
from tests.providers.conversing import reply_then_close
from tests.providers.vendors import profile_of


def body_with(**options: Any) -> dict[str, Any]:
    with running("hello") as fake:
        asyncio.run(reply_then_close(create(profile_of("anthropic", fake.url, options=options), {})))
        assert fake.headers[0]["anthropic-version"] == "2023-06-01"
        decoded: dict[str, Any] = json.loads(fake.last_body)
        return decoded


@pytest.mark.parametrize(
    ("options", "mark"),
    [
        ({}, {"type": "ephemeral"}),
        ({"promptCache": "1h"}, {"type": "ephemeral", "ttl": "1h"}),
        ({"promptCache": "off"}, None),
    ],
)
def test_how_long_the_prompt_is_kept(options: dict[str, Any], mark: Any) -> None:
    assert body_with(**options)["system"][0].get("cache_control") == mark


def test_thinking_and_other_fields() -> None:
    body = body_with(thinkingBudget=2000, body={"metadata": {"user_id": "u"}})
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    assert body["metadata"] == {"user_id": "u"}


@pytest.mark.parametrize("tail", ["", "/", "/v1", "/v1/", "/v1/messages", "/proxy/anthropic"])
def test_base_urls_as_people_write_them(tail: str) -> None:
    with running("hello") as fake:
        asyncio.run(reply_then_close(create(profile_of("anthropic", fake.url + tail), {})))
        assert fake.records[0]["path"] == ("/proxy/anthropic" if "proxy" in tail else "") + "/v1/messages"


def test_a_reply_always_has_a_limit_the_model_allows() -> None:
    assert model_info(profile_of("anthropic", "", model="claude-3-5-haiku-20241022")).max_output_tokens == 8192
    assert model_info(profile_of("anthropic", "", model="nobody-knows")).max_output_tokens == 16_384


def test_a_wrong_option_is_named_before_anything_is_sent() -> None:
    with pytest.raises(ConfigError, match="promptCache"):
        create(profile_of("anthropic", "http://127.0.0.1:1", options={"promptCache": "for ever"}), {})
