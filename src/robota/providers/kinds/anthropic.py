"""The provider type `anthropic`: Claude over the Messages API, or a server that speaks it."""

from typing import Any, Final, Literal

from robota.config.profiles.profile import Profile
from robota.config.settings.schema import Effort
from robota.providers.catalogue import ModelFacts
from robota.providers.chunks import Provider
from robota.providers.definition import ModelInfo, OfferedModel, Probed, ProviderDefinition, SetupStep, catalogued
from robota.providers.profile_options import ServerOptions, options_of
from robota.providers.wire.anthropic.body import DEFAULT_MAX_TOKENS, AnthropicBody
from robota.providers.wire.anthropic.reply import anthropic_reply
from robota.providers.wire.client import WireClient, offered_models, probe_model

API_VERSION: Final = "2023-06-01"
UNHEARD_OF: Final = ModelFacts(context_window=200_000, max_output_tokens=DEFAULT_MAX_TOKENS, images=True)


class AnthropicOptions(ServerOptions, frozen=True, kw_only=True, rename="camel"):
    """`prompt_cache` is how long the server keeps the beginning of the conversation.

    `thinking_budget` is in tokens; without it the model does not think unless `body` says so.
    """

    prompt_cache: Literal["5m", "1h", "off"] = "5m"
    thinking_budget: int | None = None


def create(profile: Profile) -> Provider:
    """A provider for the profile."""
    options = options_of(profile, AnthropicOptions)
    return WireClient(
        profile,
        headers=_headers(profile, options),
        url=f"{_base(profile)}/messages",
        body=AnthropicBody(_extra(options), _cache_control(options)),
        new_reply=anthropic_reply,
    )


async def list_models(profile: Profile) -> list[OfferedModel]:
    """The models that the server offers."""
    return await offered_models(
        profile, f"{_base(profile)}/models?limit=1000", _headers(profile, options_of(profile, AnthropicOptions))
    )


async def probe(profile: Profile) -> Probed:
    """Ask the server for the model of the profile."""
    headers = _headers(profile, options_of(profile, AnthropicOptions))
    return await probe_model(profile, f"{_base(profile)}/models/{profile.model}", headers)


def model_info(profile: Profile) -> ModelInfo:
    """The facts about the profile's model."""
    return catalogued(profile, UNHEARD_OF)


def _extra(options: AnthropicOptions) -> dict[str, Any]:
    if options.thinking_budget is None:
        return options.body
    return {"thinking": {"type": "enabled", "budget_tokens": options.thinking_budget}, **options.body}


def _cache_control(options: AnthropicOptions) -> dict[str, str] | None:
    if options.prompt_cache == "off":
        return None
    # Five minutes is the server's default, and the only choice on older servers.
    return {"type": "ephemeral"} if options.prompt_cache == "5m" else {"type": "ephemeral", "ttl": "1h"}


def _base(profile: Profile) -> str:
    """With or without /v1 and /messages: users paste all of these forms."""
    base = (profile.base_url or "").strip().rstrip("/")
    return base.removesuffix("/messages").removesuffix("/v1").rstrip("/") + "/v1"


def _headers(profile: Profile, options: AnthropicOptions) -> dict[str, str]:
    key = {"x-api-key": profile.api_key} if profile.api_key else {}
    return {**key, "anthropic-version": API_VERSION, **options.headers}


DEFINITION = ProviderDefinition(
    type="anthropic",
    aliases=("claude",),
    display_name="Anthropic",
    description="Claude models over the Anthropic API.",
    create_provider=create,
    api_protocol="anthropic",
    defaults={
        "baseURL": "https://api.anthropic.com",
        "model": "claude-sonnet-4-6",
        "apiKey": "$ENV:ANTHROPIC_API_KEY",
    },
    setup_steps=(
        SetupStep(field="model", prompt="Model", required=True, default="claude-sonnet-4-6"),
        SetupStep(
            field="apiKey",
            prompt="API key, or $ENV:NAME",
            required=True,
            secret=True,
            default="$ENV:ANTHROPIC_API_KEY",
        ),
    ),
    requires_api_key=True,
    probe_profile=probe,
    list_models=list_models,
    model_info=model_info,
    efforts={
        Effort.LOW: {"thinkingBudget": 4_096},
        Effort.MEDIUM: {"thinkingBudget": 12_288},
        Effort.HIGH: {"thinkingBudget": 24_576},
    },
)
