"""The provider types that are data: an address, a key and a few quirks over the client of `openai-compatible`."""

from typing import Any

import msgspec

from robota.providers.definition import CostSource, ProviderDefinition, SetupStep
from robota.providers.kinds.openai_compatible import REASONING_EFFORTS, chat_client, list_models, model_info, probe

# By default, local servers give a model a far smaller window than it supports.
LOCAL_WINDOW = 32_768


def hosted(
    *, type: str, name: str, description: str, url: str, key: str, model: str, options: dict[str, Any] | None = None
) -> ProviderDefinition:
    """A service on the network. `key` is the environment variable that usually holds its key."""
    key_reference = f"$ENV:{key}"
    return ProviderDefinition(
        type=type,
        display_name=name,
        description=description,
        create_provider=chat_client,
        defaults={"baseURL": url, "model": model, "apiKey": key_reference, "options": options or {}},
        setup_steps=(
            SetupStep(field="model", prompt="Model", required=True, default=model),
            SetupStep(
                field="apiKey", prompt="API key, or $ENV:NAME", required=True, secret=True, default=key_reference
            ),
        ),
        requires_api_key=True,
        probe_profile=probe,
        list_models=list_models,
        model_info=model_info,
        efforts=REASONING_EFFORTS,
    )


def on_this_machine(*, type: str, name: str, description: str, url: str) -> ProviderDefinition:
    """A server that users run themselves; it needs no key and is detected at `url`."""
    return ProviderDefinition(
        type=type,
        display_name=name,
        description=description,
        create_provider=chat_client,
        defaults={"baseURL": url, "options": {"contextWindow": LOCAL_WINDOW}},
        setup_steps=(
            SetupStep(field="baseURL", prompt="Address of the server, up to and including /v1", default=url),
            SetupStep(field="model", prompt="Model", required=True),
        ),
        probe_profile=probe,
        list_models=list_models,
        model_info=model_info,
        efforts=REASONING_EFFORTS,
        local_address=url,
        cost_source=CostSource.FREE,
    )


OPENROUTER = msgspec.structs.replace(
    hosted(
        type="openrouter",
        name="OpenRouter",
        description="Models of many vendors with one key; reports what each request cost.",
        url="https://openrouter.ai/api/v1",
        key="OPENROUTER_API_KEY",
        model="anthropic/claude-sonnet-4.5",
        options={
            "headers": {"x-title": "Robota"},
            "body": {"usage": {"include": True}},
            "cacheKeyField": "session_id",
            "cacheMarks": ["anthropic/", "~anthropic/", "qwen/"],
        },
    ),
    cost_source=CostSource.REPORTED,
)

DEEPSEEK = hosted(
    type="deepseek",
    name="DeepSeek",
    description="DeepSeek's own service.",
    url="https://api.deepseek.com/v1",
    key="DEEPSEEK_API_KEY",
    model="deepseek-chat",
    # Its own limit is half of what the model can write, and it wants to see the thoughts that led to its calls.
    options={"sendMaxOutput": True, "reasoningField": "reasoning_content"},
)

MISTRAL = hosted(
    type="mistral",
    name="Mistral",
    description="Mistral's own service.",
    url="https://api.mistral.ai/v1",
    key="MISTRAL_API_KEY",
    model="mistral-medium-latest",
    # It reports usage by default, and rejects fields, call ids and message orders that others accept.
    options={
        "streamOptions": False,
        "shortCallIds": True,
        "userAfterTool": False,
        "cacheKeyField": "prompt_cache_key",
    },
)

GROQ = hosted(
    type="groq",
    name="Groq",
    description="Open models on very fast machines.",
    url="https://api.groq.com/openai/v1",
    key="GROQ_API_KEY",
    model="openai/gpt-oss-120b",
    options={"maxTokensField": "max_completion_tokens"},
)

OLLAMA = on_this_machine(
    type="ollama",
    name="Ollama",
    description="Models served by Ollama on this machine.",
    url="http://localhost:11434/v1",
)

LMSTUDIO = on_this_machine(
    type="lmstudio",
    name="LM Studio",
    description="Models served by LM Studio on this machine.",
    url="http://localhost:1234/v1",
)

LLAMACPP = on_this_machine(
    type="llamacpp",
    name="llama.cpp",
    description="A model served by llama-server on this machine.",
    url="http://localhost:8080/v1",
)
