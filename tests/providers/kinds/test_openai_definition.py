"""The provider type `openai`: which API it speaks, and what it asks of which model."""

import asyncio
import json
from typing import Any

import pytest

from robota.config.errors import ConfigError
from robota.providers.chunks import ModelRequest
from robota.providers.fault import ProviderFault
from robota.providers.registry import create
from tests.fakellm.server import running
from tests.fakellm.shapes import HELLO
from tests.providers.conversing import reply_then_close, text_of, user
from tests.providers.vendors import profile_of


def sent_to(model: str, **options: Any) -> tuple[str, dict[str, Any]]:
    """The path and the body of a request."""
    asked = ModelRequest(model=model, system="", turns=(user("x"),), max_output_tokens=9)
    with running("hello", main="all") as fake:
        profile = profile_of("responses", fake.url, model=model, options=options)
        chunks = asyncio.run(reply_then_close(create(profile, {}), asked))
        assert text_of(chunks) == HELLO
        return fake.records[0]["path"], json.loads(fake.last_body)


def test_responses_unless_chat_is_wanted() -> None:
    path, body = sent_to("gpt-5.1")
    assert (path, body["max_output_tokens"]) == ("/v1/responses", 9)
    path, body = sent_to("gpt-5.1", api="chat")
    assert (path, body["max_completion_tokens"]) == ("/v1/chat/completions", 9)
    with pytest.raises(ConfigError, match="api"):
        create(profile_of("responses", "http://127.0.0.1:1", options={"api": "telepathy"}), {})


@pytest.mark.parametrize(
    ("model", "options", "reasons"),
    [
        ("gpt-5.1", {}, True),
        ("gpt-7-turbo", {}, True),
        ("o9-mini", {}, True),
        ("gpt-7-chat-latest", {}, False),
        ("gpt-4o", {}, False),
        ("my-own", {}, False),
        ("my-own", {"reasoning": True}, True),
        ("gpt-5.1", {"reasoning": False}, False),
    ],
)
def test_reasoning_is_asked_of_models_that_reason(model: str, options: dict[str, Any], reasons: bool) -> None:
    _, body = sent_to(model, **options)
    assert ("include" in body) is reasons
    assert body["store"] is False


def test_effort_and_summary() -> None:
    _, body = sent_to("gpt-5.1", reasoningEffort="high", reasoningSummary="auto")
    assert body["reasoning"] == {"effort": "high", "summary": "auto"}


@pytest.mark.parametrize("tail", ["", "/", "/responses", "/chat/completions"])
def test_base_urls_as_people_write_them(tail: str) -> None:
    with running("hello") as fake:
        for api, path in (("responses", "/v1/responses"), ("chat", "/v1/chat/completions")):
            fake.reset("hello")
            profile = profile_of("responses", fake.url, base_url=f"{fake.url}/v1{tail}", options={"api": api})
            asyncio.run(reply_then_close(create(profile, {})))
            assert fake.records[0]["path"] == path


def test_a_server_without_responses_gets_the_type_that_it_speaks_proposed() -> None:
    asked = ModelRequest(model="m", system="", turns=(user("x"),), max_output_tokens=9)
    with running("fault:404", main="all") as fake:
        profile = profile_of("responses", fake.url, model="m")
        with pytest.raises(ProviderFault, match=r"HTTP 404.*\.type openai-compatible$"):
            asyncio.run(reply_then_close(create(profile, {}), asked))
