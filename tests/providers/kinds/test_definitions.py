"""Every provider type keeps the contract of a definition, and those that are data send what their service wants."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import fields

from robota.config.errors import ConfigError
from robota.config.profiles.profile import Profile
from robota.protocol.conversation import (
    AssistantTurn,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserTurn,
)
from robota.providers.catalogue import ModelFacts
from robota.providers.chunks import ModelRequest, ThinkingChunk, UsageChunk
from robota.providers.definition import ProviderDefinition
from robota.providers.kinds.openai_compatible import ChatOptions
from robota.providers.registry import FIELDS, create, definition, definitions, ready
from robota.providers.wire.chat.body import ChatQuirks
from robota.providers.wire.chat.reply import chat_reply
from tests.fakellm.server import running
from tests.providers.conversing import reply_then_close, request, text_of, user

HOSTED = {
    "openrouter": "OPENROUTER_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "mistral": "MISTRAL_API_KEY",
    "groq": "GROQ_API_KEY",
    "qwen": "DASHSCOPE_API_KEY",
}
ON_THIS_MACHINE = ("ollama", "lmstudio", "llamacpp", "gemma")


def sent_by(type: str, asked: ModelRequest | None = None, **fields: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """Body and headers of a request through a provider of this type."""
    with running("hello") as fake:
        profile = Profile(type=type, name="p", base_url=f"{fake.url}/v1", **{"model": "fake-model", **fields})
        provider = create(profile, dict.fromkeys(HOSTED.values(), "sk-1"))
        assert text_of(asyncio.run(reply_then_close(provider, asked)))
        return json.loads(fake.last_body), fake.headers[0]


@pytest.mark.parametrize("kind", definitions(), ids=lambda kind: kind.type)
def test_a_definition_is_complete(kind: ProviderDefinition) -> None:
    assert kind.display_name and kind.description
    assert set(kind.defaults) <= set(FIELDS)
    assert {step.field for step in kind.setup_steps} <= {"baseURL", "model", "apiKey"}
    assert all(step.prompt for step in kind.setup_steps)
    key_steps = [step for step in kind.setup_steps if step.field == "apiKey"]
    assert all(step.secret for step in key_steps)
    assert key_steps or not kind.requires_api_key


@pytest.mark.parametrize(("type", "variable"), HOSTED.items())
def test_a_hosted_type_needs_its_key_and_nothing_else(type: str, variable: str) -> None:
    profile = ready(Profile(type=type, name="p"), {variable: "sk-1"})
    assert profile.api_key == "sk-1" and profile.model and (profile.base_url or "").startswith("https://")
    info = definition(type).model_info(profile)
    assert info.assumption is None, "the default model must be in the catalogue"
    with pytest.raises(ConfigError, match=f"{variable}.*not set.*Nothing was sent"):
        ready(Profile(type=type, name="p"), {})


@pytest.mark.parametrize("type", ON_THIS_MACHINE)
def test_a_server_of_ones_own_needs_a_model_and_no_key(type: str) -> None:
    profile = ready(Profile(type=type, name="p", model="anything"), {})
    assert profile.api_key is None and (profile.base_url or "").startswith("http://localhost:")
    assert definition(type).model_info(profile).assumption is None
    with pytest.raises(ConfigError, match="no model"):
        ready(Profile(type=type, name="p"), {})


@pytest.mark.parametrize("type", [*HOSTED, *ON_THIS_MACHINE, "openai-compatible"])
def test_every_type_speaks_to_a_server(type: str) -> None:
    body, headers = sent_by(type)
    assert body["model"] == "fake-model" and body["stream"] is True
    assert headers.get("authorization") == ("Bearer sk-1" if type in HOSTED else None)


@pytest.mark.parametrize(
    ("type", "model", "field", "marks"),
    [
        ("openrouter", "anthropic/claude-sonnet-4.5", "session_id", 2),
        ("openrouter", "qwen/qwen3-coder", "session_id", 2),
        ("openrouter", "openai/gpt-5", "session_id", 0),
        ("mistral", "mistral-medium-latest", "prompt_cache_key", 0),
        ("qwen", "qwen3-coder-plus", None, 2),
        ("deepseek", "deepseek-chat", None, 0),
        ("groq", "openai/gpt-oss-120b", None, 0),
    ],
)
def test_a_service_that_caches_on_request_is_asked_to(type: str, model: str, field: str | None, marks: int) -> None:
    """Marks of what it caches, or the session whose requests belong on one machine."""
    asked = ModelRequest(model=model, system="Be brief.", turns=(user("hello"),), cache_key="session-1")
    body, _ = sent_by(type, asked, model=model)
    assert str(body).count("cache_control") == marks
    assert {key for key, value in body.items() if value == "session-1"} == ({field} if field else set())


def test_chat_completions_of_openai_are_told_the_session() -> None:
    asked = ModelRequest(model="gpt-4.1", system="Be brief.", turns=(user("hello"),), cache_key="session-1")
    body, _ = sent_by("openai", asked, api_key="sk-1", options={"api": "chat"})
    assert body["prompt_cache_key"] == "session-1" and "messages" in body


def test_openrouter_is_asked_for_the_cost() -> None:
    body, headers = sent_by("openrouter")
    assert body["usage"] == {"include": True} and headers["x-title"] == "Robota"
    reply = chat_reply()
    chunks = reply.feed(b'data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":1,"cost":0.25}}\n\n')
    assert isinstance(chunks[0], UsageChunk) and chunks[0].cost == 0.25


def history(call_id: str) -> tuple[UserTurn | AssistantTurn, ...]:
    call = ToolUseBlock(id=call_id, name="read_file", input={"path": "a"})
    thought = ThinkingBlock(thinking="I must read it.")
    results = (ToolResultBlock(tool_use_id=call_id, content="text"), TextBlock(text="Go on."))
    return (user("hi"), AssistantTurn(content=(thought, call)), UserTurn(content=results))


def test_deepseek_gets_the_thoughts_behind_its_calls_and_a_limit() -> None:
    body, _ = sent_by("deepseek", request(*history("c1")))
    (assistant,) = [message for message in body["messages"] if message["role"] == "assistant"]
    assert assistant["reasoning_content"] == "I must read it."
    neutral, _ = sent_by("openai-compatible", request(*history("c1")))
    assert "I must read it." not in json.dumps(neutral)
    known = ready(Profile(type="deepseek", name="p"), {"DEEPSEEK_API_KEY": "k"})
    assert definition("deepseek").model_info(known).max_output_tokens == 8192


def test_mistral_gets_short_ids_an_order_it_takes_and_no_field_it_refuses() -> None:
    body, _ = sent_by("mistral", request(*history("call_something_long")))
    assert "stream_options" not in body
    roles = [message["role"] for message in body["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]
    given, answered = body["messages"][2]["tool_calls"][0]["id"], body["messages"][3]["tool_call_id"]
    assert given == answered and len(given) == 9 and given.isalnum()
    own, _ = sent_by("mistral", request(*history("aB3dE6gH9")))
    assert own["messages"][3]["tool_call_id"] == "aB3dE6gH9"


def test_thoughts_that_come_as_parts_of_the_content_are_thoughts() -> None:
    part = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    event = {"choices": [{"delta": {"content": [part, {"type": "text", "text": "Yes."}]}}]}
    chunks = chat_reply().feed(b"data: " + json.dumps(event).encode() + b"\n\n")
    assert chunks[0] == ThinkingChunk("Hm.") and text_of(chunks) == "Yes."


@pytest.mark.parametrize(
    ("tools", "search", "strategy"),
    [
        ({}, None, None),
        ({"webSearch": True}, True, None),
        ({"webSearch": True, "webFetch": True}, True, "agent_max"),
    ],
)
def test_qwen_searches_the_web_if_the_profile_says_so(tools: dict[str, bool], search: Any, strategy: Any) -> None:
    body, _ = sent_by("qwen", options={"builtInWebTools": tools, "body": {"temperature": 0}})
    assert body.get("enable_search") is search
    assert body.get("search_options", {}).get("search_strategy") == strategy
    assert body["temperature"] == 0


def test_a_web_tool_that_does_not_exist_is_named() -> None:
    profile = Profile(type="qwen", name="q", options={"builtInWebTools": {"webSurf": True}})
    with pytest.raises(ConfigError, match="webSurf"):
        create(profile, {"DASHSCOPE_API_KEY": "k"})


def test_the_page_names_every_type_key_and_option() -> None:
    page = (Path(__file__).parents[3] / "docs/providers.md").read_text(encoding="utf-8")
    options = {field.encode_name for shape in (ChatOptions, ChatQuirks) for field in fields(shape)}
    facts = {field.encode_name for field in fields(ModelFacts)}
    kinds = {name for kind in definitions() for name in (kind.type, *kind.aliases)}
    variables = {kind.defaults["apiKey"].removeprefix("$ENV:") for kind in definitions() if "apiKey" in kind.defaults}
    assert [name for name in sorted({*options, *facts, *kinds, *variables}) if f"`{name}" not in page] == []
