"""The vendors' own APIs, each as a whole provider against a server on loopback: faults, connection, keys."""

import asyncio
import json
from typing import Any

import pytest

from robota.config.errors import ConfigError
from robota.config.profiles.profile import Profile
from robota.providers.chunks import TextChunk, UsageChunk
from robota.providers.fault import FaultKind, ProviderFault
from robota.providers.registry import create, definition, ready
from tests.fakellm.server import running
from tests.fakellm.shapes import HELLO
from tests.providers.conversing import (
    calling,
    calls_of,
    finish_of,
    reply_then_close,
    request,
    result,
    text_of,
    user,
    whole_reply,
)
from tests.providers.raw_server import STREAM_HEAD, raw_server
from tests.providers.recovery import EVERY_FAULT, assert_answers_after
from tests.providers.shape_server import Answer, shape_server
from tests.providers.vendors import VENDORS, profile_of

EVERY_VENDOR = pytest.mark.parametrize("vendor", VENDORS)


@EVERY_VENDOR
def test_a_tool_loop(vendor: str) -> None:
    async def run(url: str) -> None:
        provider = create(profile_of(vendor, url), {})
        first = await whole_reply(provider)
        ((call_id, name, arguments),) = calls_of(first)
        assert finish_of(first) == "tool_use"
        assert json.loads(arguments)["path"].endswith("f0000.txt")
        turns = (user("hello"), calling(name, json.loads(arguments), call_id or "c1", "Reading. "))
        second = await reply_then_close(provider, request(*turns, result("text", call_id or "c1")))
        assert (text_of(second), finish_of(second)) == (HELLO, "end_turn")
        assert [chunk.usage.input_tokens > 0 for chunk in second if isinstance(chunk, UsageChunk)][-1]

    with running("loop:1") as fake:
        asyncio.run(run(fake.url))


@EVERY_VENDOR
@EVERY_FAULT
def test_after_every_fault_the_same_provider_answers_again(vendor: str, scenario: str, kind: FaultKind) -> None:
    assert_answers_after(scenario, kind, lambda url, timeout: create(profile_of(vendor, url, timeout=timeout), {}))


def anthropic_error(name: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": name, "message": message}, "request_id": "req_1"}


def openai_error(code: str, message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}


def gemini_error(status: str, message: str, *details: dict[str, Any]) -> dict[str, Any]:
    return {"error": {"code": 400, "message": message, "status": status, "details": details}}


REFUSALS = [
    ("anthropic", 400, anthropic_error("invalid_request_error", "prompt is too long: 208 tokens > 200 maximum"),
     FaultKind.CONTEXT_TOO_LONG),
    ("anthropic", 413, anthropic_error("request_too_large", "Request exceeds the maximum size"),
     FaultKind.CONTEXT_TOO_LONG),
    ("anthropic", 400, anthropic_error("invalid_request_error",
     "max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens for claude-opus-4"),
     FaultKind.INVALID_REQUEST),
    ("anthropic", 400, anthropic_error("invalid_request_error", "Your credit balance is too low to access the API."),
     FaultKind.BILLING),
    ("anthropic", 401, anthropic_error("authentication_error", "invalid x-api-key"), FaultKind.AUTHENTICATION),
    ("anthropic", 404, anthropic_error("not_found_error", "model: claude-9"), FaultKind.MODEL_NOT_FOUND),
    ("responses", 400, openai_error("context_length_exceeded", "Your input exceeds the context window of this model."),
     FaultKind.CONTEXT_TOO_LONG),
    ("responses", 401, openai_error("invalid_api_key", "Incorrect API key provided: sk-***."),
     FaultKind.AUTHENTICATION),
    ("responses", 404, openai_error("model_not_found", "The model `gpt-9` does not exist."),
     FaultKind.MODEL_NOT_FOUND),
    ("responses", 429, openai_error("insufficient_quota", "You exceeded your current quota."), FaultKind.BILLING),
    ("gemini", 400, gemini_error("INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.",
     {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}), FaultKind.AUTHENTICATION),
    ("gemini", 400, gemini_error("INVALID_ARGUMENT",
     "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
     FaultKind.CONTEXT_TOO_LONG),
    ("gemini", 404, gemini_error("NOT_FOUND", "models/gemini-9 is not found for API version v1beta"),
     FaultKind.MODEL_NOT_FOUND),
]  # fmt: skip


@pytest.mark.parametrize(("vendor", "status", "error", "kind"), REFUSALS)
def test_refusals_as_the_vendors_word_them(vendor: str, status: int, error: Any, kind: FaultKind) -> None:
    async def run() -> ProviderFault:
        async with shape_server(Answer(json.dumps(error).encode(), status)) as server:
            with pytest.raises(ProviderFault) as caught:
                await reply_then_close(create(profile_of(vendor, server.url), {}))
            return caught.value

    fault = asyncio.run(run())
    assert (fault.kind, fault.status) == (kind, status)


def test_gemini_says_in_its_error_how_long_to_wait() -> None:
    retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "17s"}

    async def run() -> ProviderFault:
        body = json.dumps(gemini_error("RESOURCE_EXHAUSTED", "Quota exceeded", retry)).encode()
        async with shape_server(Answer(body, 429)) as server:
            with pytest.raises(ProviderFault) as caught:
                await reply_then_close(create(profile_of("gemini", server.url), {}))
            return caught.value

    fault = asyncio.run(run())
    assert (fault.kind, fault.retry_after_s) == (FaultKind.RATE_LIMIT, 17)


@EVERY_VENDOR
def test_a_key_that_a_server_echoes_in_mid_stream_is_not_shown(vendor: str) -> None:
    error = {"type": "error", "error": {"code": 500, "type": "api_error", "message": "sk-secret is no good"}}

    async def run() -> str:
        async with shape_server(b"data: " + json.dumps(error).encode() + b"\n\n") as server:
            with pytest.raises(ProviderFault) as caught:
                await reply_then_close(create(profile_of(vendor, server.url), {}))
            return caught.value.message

    message = asyncio.run(run())
    assert "sk-secret" not in message
    assert "*** is no good" in message


@EVERY_VENDOR
def test_closing_the_reply_drops_it_and_the_provider_goes_on(vendor: str) -> None:
    async def run(url: str) -> None:
        provider = create(profile_of(vendor, url, timeout=5), {})
        async for batch in provider.stream(request()):
            if any(isinstance(chunk, TextChunk) for chunk in batch):
                break
        assert text_of(await reply_then_close(provider)) == HELLO

    with running("fault:stall") as fake:
        asyncio.run(run(fake.url))


@pytest.mark.parametrize(
    ("vendor", "frame"),
    [
        ("anthropic", b'data: {"type":"error","error":{"type":"overloaded_error"}}\n\n'),
        ("responses", b'data: {"type":"response.failed","response":{"error":{"code":"slow_down"}}}\n\n'),
        ("gemini", b'data: {"error":{"code":503,"message":"busy"}}\n\n'),
    ],
)
def test_an_error_ends_the_reply_even_if_the_server_keeps_the_line_open(vendor: str, frame: bytes) -> None:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD + frame)
        await writer.drain()
        await asyncio.Event().wait()

    async def run() -> FaultKind:
        async with raw_server(answer) as server:
            with pytest.raises(ProviderFault) as caught:
                await reply_then_close(create(profile_of(vendor, server.url), {}))
            return caught.value.kind

    assert asyncio.run(run()) is FaultKind.OVERLOADED


@pytest.mark.parametrize(
    ("vendor", "path", "header", "value"),
    [
        ("anthropic", "/v1/messages", "x-api-key", "sk-secret"),
        ("responses", "/v1/responses", "authorization", "Bearer sk-secret"),
        ("gemini", "/v1beta/models/fake-model:streamGenerateContent?alt=sse", "x-goog-api-key", "sk-secret"),
    ],
)
def test_where_it_goes_and_under_which_key(vendor: str, path: str, header: str, value: str) -> None:
    with running("hello") as fake:
        profile = profile_of(vendor, fake.url, options={"headers": {"x-team": "7"}})
        asyncio.run(reply_then_close(create(profile, {})))
        assert fake.records[0]["path"] == path
        assert (fake.headers[0][header], fake.headers[0]["x-team"]) == (value, "7")


@EVERY_VENDOR
def test_the_probe_says_whether_the_model_is_there(vendor: str) -> None:
    async def run(*answers: Answer) -> str:
        async with shape_server(*answers) as server:
            profile = profile_of(vendor, server.url)
            probe = definition(profile.type).probe_profile
            assert probe is not None
            line = (await probe(profile)).text
            assert server.paths[0].endswith("/models/fake-model")
            return line

    missing = Answer(b'{"error": {"message": "no such model"}}', 404)
    assert "offers fake-model" in asyncio.run(run(Answer(b"{}")))
    assert "does not know fake-model" in asyncio.run(run(missing))
    with pytest.raises(ProviderFault, match="API key"):
        asyncio.run(run(Answer(b"{}", 401)))


@EVERY_VENDOR
def test_the_key_comes_from_the_usual_variable_and_nothing_is_sent_without_it(vendor: str) -> None:
    kind = definition(profile_of(vendor, "").type)
    variable = kind.defaults["apiKey"].removeprefix("$ENV:")
    full = ready(Profile(type=kind.type, name="x"), {variable: "sk-1"})
    assert (full.api_key, full.model, full.base_url) == ("sk-1", kind.defaults["model"], kind.defaults["baseURL"])
    with pytest.raises(ConfigError, match=variable):
        ready(Profile(type=kind.type, name="x"), {})


@EVERY_VENDOR
def test_the_model_of_the_definition_is_in_the_catalogue_and_an_unknown_one_is_told_of(vendor: str) -> None:
    kind = definition(profile_of(vendor, "").type)
    known = kind.model_info(ready(Profile(type=kind.type, api_key="k"), {}))
    assert known.assumption is None
    assert known.sees_images
    unknown = kind.model_info(ready(Profile(type=kind.type, api_key="k", model="nobody-knows"), {}))
    assert "nobody-knows" in (unknown.assumption or "")
    told = {"contextWindow": 9000, "maxOutputTokens": 50, "seesImages": False, "nativeTools": False}
    info = kind.model_info(Profile(type=kind.type, api_key="k", model="nobody-knows", options=told))
    assert (info.context_window, info.max_output_tokens, info.sees_images, info.native_tools) == (
        9000,
        50,
        False,
        False,
    )
    with pytest.raises(ConfigError, match="contextWindow"):
        kind.model_info(Profile(type=kind.type, options={"contextWindow": "big"}))
