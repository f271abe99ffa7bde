"""The provider type `openai`: the Responses API, or Chat Completions on request."""

import re
from typing import Any, Final, Literal

import msgspec

from robota.config.profiles.profile import Profile
from robota.providers.catalogue import ModelFacts, entry_of
from robota.providers.chunks import Provider
from robota.providers.definition import ModelInfo, OfferedModel, Probed, ProviderDefinition, SetupStep, catalogued
from robota.providers.kinds.openai_compatible import REASONING_EFFORTS, chat_client
from robota.providers.profile_options import ServerOptions, options_of
from robota.providers.wire.client import WireClient, offered_models, probe_model
from robota.providers.wire.responses.body import ResponsesBody
from robota.providers.wire.responses.reply import responses_reply

UNHEARD_OF: Final = ModelFacts(context_window=128_000, images=True)
REASONING_NAMES: Final = re.compile(r"(o\d|gpt-[5-9]|codex)(?!.*-chat)")
OWN_HOST: Final = "//api.openai.com"
ONLY_CHAT: Final = (
    "If this server speaks only Chat Completions, as many local ones do: robota config set providers.{}.type "
    "openai-compatible"
)
# What Chat Completions at OpenAI requires or offers, and compatible servers do not.
CHAT_DEFAULTS: Final = {"maxTokensField": "max_completion_tokens", "cacheKeyField": "prompt_cache_key"}


class OpenAiOptions(ServerOptions, frozen=True, kw_only=True, rename="camel"):
    """`reasoning` says whether the model reasons, if its name does not reveal it.

    A summary of the reasoning is opt-in, because some accounts may not request it.
    """

    api: Literal["responses", "chat"] = "responses"
    reasoning: bool | None = None
    reasoning_effort: str | None = None
    reasoning_summary: str | None = None


def create(profile: Profile) -> Provider:
    """A provider for the profile, over Responses or Chat Completions."""
    options = options_of(profile, OpenAiOptions)
    if options.api == "chat":
        return chat_client(_for_chat(profile))
    return WireClient(
        profile,
        headers=_headers(profile, options),
        url=f"{_base(profile)}/responses",
        body=ResponsesBody(_extra(options), lambda model: _reasons(profile, options, model)),
        new_reply=responses_reply,
        if_unknown="" if OWN_HOST in _base(profile) else ONLY_CHAT.format(profile.name),
    )


async def list_models(profile: Profile) -> list[OfferedModel]:
    """The models that the server offers."""
    return await offered_models(
        profile, f"{_base(profile)}/models", _headers(profile, options_of(profile, OpenAiOptions))
    )


async def probe(profile: Profile) -> Probed:
    """Ask the server for the model of the profile."""
    headers = _headers(profile, options_of(profile, OpenAiOptions))
    return await probe_model(profile, f"{_base(profile)}/models/{profile.model}", headers)


def model_info(profile: Profile) -> ModelInfo:
    """The server has a sensible default for the length of a reply, so only the profile's limit is sent."""
    options = options_of(profile, OpenAiOptions)
    return msgspec.structs.replace(catalogued(profile, UNHEARD_OF), max_output_tokens=options.max_output_tokens)


def _for_chat(profile: Profile) -> Profile:
    return msgspec.structs.replace(profile, base_url=_base(profile), options={**CHAT_DEFAULTS, **profile.options})


def _extra(options: OpenAiOptions) -> dict[str, Any]:
    wishes = {"effort": options.reasoning_effort, "summary": options.reasoning_summary}
    reasoning = {name: value for name, value in wishes.items() if value is not None}
    return {"reasoning": reasoning, **options.body} if reasoning else options.body


def _reasons(profile: Profile, options: OpenAiOptions, model: str) -> bool:
    if options.reasoning is not None:
        return options.reasoning
    entry = entry_of(profile, model)
    return entry.facts.thinking if entry.is_known else REASONING_NAMES.match(model) is not None


def _base(profile: Profile) -> str:
    base = (profile.base_url or "").strip().rstrip("/")
    return base.removesuffix("/responses").removesuffix("/chat/completions").rstrip("/")


def _headers(profile: Profile, options: OpenAiOptions) -> dict[str, str]:
    key = {"authorization": f"Bearer {profile.api_key}"} if profile.api_key else {}
    return {**key, **options.headers}


DEFINITION = ProviderDefinition(
    type="openai",
    display_name="OpenAI",
    description="GPT models over the OpenAI API.",
    create_provider=create,
    defaults={"baseURL": "https://api.openai.com/v1", "model": "gpt-5.1", "apiKey": "$ENV:OPENAI_API_KEY"},
    setup_steps=(
        SetupStep(field="model", prompt="Model", required=True, default="gpt-5.1"),
        SetupStep(
            field="apiKey",
            prompt="API key, or $ENV:NAME",
            required=True,
            secret=True,
            default="$ENV:OPENAI_API_KEY",
        ),
    ),
    requires_api_key=True,
    probe_profile=probe,
    list_models=list_models,
    model_info=model_info,
    efforts=REASONING_EFFORTS,
)
