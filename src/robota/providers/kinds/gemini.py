"""The provider type `gemini`: Google's Gemini API."""

import re
from typing import Any, Final
from urllib.parse import quote

import msgspec

from robota.config.profiles.profile import Profile
from robota.config.settings.schema import Effort
from robota.providers.catalogue import ModelFacts, entry_of
from robota.providers.chunks import Provider
from robota.providers.definition import ModelInfo, OfferedModel, Probed, ProviderDefinition, SetupStep, catalogued
from robota.providers.profile_options import ServerOptions, options_of
from robota.providers.wire.client import WireClient, offered_models, probe_model
from robota.providers.wire.gemini.body import GeminiBody
from robota.providers.wire.gemini.reply import gemini_reply

UNHEARD_OF: Final = ModelFacts(context_window=1_048_576, images=True)
THINKING_NAMES: Final = re.compile(r"gemini-(2\.5|[3-9]|\d\d)")


class GeminiOptions(ServerOptions, frozen=True, kw_only=True, rename="camel"):
    """`thinking` says whether the model can show its thoughts, if its name does not reveal it.

    `thinking_budget`, in tokens, limits how much it thinks; models with levels use `thinking_level` instead.
    """

    thinking: bool | None = None
    thinking_budget: int | None = None
    thinking_level: str | None = None

    def __post_init__(self) -> None:
        config = self.body.get("generationConfig", {})
        if not isinstance(config, dict) or not isinstance(config.get("thinkingConfig", {}), dict):
            raise ValueError("body.generationConfig and its thinkingConfig must be objects")


def create(profile: Profile) -> Provider:
    """A provider for the profile."""
    options = options_of(profile, GeminiOptions)
    return WireClient(
        profile,
        headers=_headers(profile, options),
        url=lambda model: f"{_model_url(profile, model)}:streamGenerateContent?alt=sse",
        body=GeminiBody(_extra(options), lambda model: _thinks(profile, options, model)),
        new_reply=gemini_reply,
    )


async def list_models(profile: Profile) -> list[OfferedModel]:
    """The models that the server offers."""
    return await offered_models(
        profile, f"{_models_url(profile)}?pageSize=1000", _headers(profile, options_of(profile, GeminiOptions))
    )


async def probe(profile: Profile) -> Probed:
    """Ask the server for the model of the profile."""
    headers = _headers(profile, options_of(profile, GeminiOptions))
    return await probe_model(profile, _model_url(profile, profile.model or ""), headers)


def model_info(profile: Profile) -> ModelInfo:
    """The server has a sensible default for the length of a reply, so only the profile's limit is sent."""
    options = options_of(profile, GeminiOptions)
    return msgspec.structs.replace(catalogued(profile, UNHEARD_OF), max_output_tokens=options.max_output_tokens)


def _extra(options: GeminiOptions) -> dict[str, Any]:
    wishes = {"thinkingBudget": options.thinking_budget, "thinkingLevel": options.thinking_level}
    thinking = {name: value for name, value in wishes.items() if value is not None}
    if not thinking:
        return options.body
    config = {"thinkingConfig": thinking, **options.body.get("generationConfig", {})}
    return {**options.body, "generationConfig": config}


def _thinks(profile: Profile, options: GeminiOptions, model: str) -> bool:
    if options.thinking is not None:
        return options.thinking
    entry = entry_of(profile, model)
    return entry.facts.thinking if entry.is_known else THINKING_NAMES.match(model) is not None


def _models_url(profile: Profile) -> str:
    return f"{(profile.base_url or '').strip().rstrip('/').removesuffix('/models')}/models"


def _model_url(profile: Profile, model: str) -> str:
    return f"{_models_url(profile)}/{quote(model.removeprefix('models/'), safe='')}"


def _headers(profile: Profile, options: GeminiOptions) -> dict[str, str]:
    key = {"x-goog-api-key": profile.api_key} if profile.api_key else {}
    return {**key, **options.headers}


DEFINITION = ProviderDefinition(
    type="gemini",
    aliases=("google",),
    display_name="Google Gemini",
    description="Gemini models over the Google AI API.",
    create_provider=create,
    defaults={
        "baseURL": "https://generativelanguage.googleapis.com/v1beta",
        "model": "gemini-2.5-pro",
        "apiKey": "$ENV:GEMINI_API_KEY",
    },
    setup_steps=(
        SetupStep(field="model", prompt="Model", required=True, default="gemini-2.5-pro"),
        SetupStep(
            field="apiKey",
            prompt="API key, or $ENV:NAME",
            required=True,
            secret=True,
            default="$ENV:GEMINI_API_KEY",
        ),
    ),
    requires_api_key=True,
    probe_profile=probe,
    list_models=list_models,
    model_info=model_info,
    efforts={
        Effort.LOW: {"thinkingBudget": 1_024},
        Effort.MEDIUM: {"thinkingBudget": 8_192},
        Effort.HIGH: {"thinkingBudget": 24_576},
    },
)
