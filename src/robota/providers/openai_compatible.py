"""The provider type `openai-compatible`: any server that speaks Chat Completions."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import msgspec

from robota.config.errors import ConfigError
from robota.config.profiles import Profile
from robota.providers.chunks import Chunk, ModelRequest
from robota.providers.definition import ModelInfo, ProviderDefinition, SetupStep
from robota.providers.fault import FaultKind, ProviderFault
from robota.providers.http import Http
from robota.providers.openai_chat import ChatReply
from robota.providers.openai_chat_body import ChatBody


class ChatOptions(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What `options` of a profile may say. `body` and `headers` are added to every request as they are."""

    context_window: int = 128_000
    max_output_tokens: int | None = None
    native_tools: bool = True
    sees_images: bool = False
    max_tokens_field: str = "max_tokens"
    headers: dict[str, str] = {}
    body: dict[str, Any] = {}


class OpenAiCompatible:
    """One server, one kept connection, one conversation's worth of encoded turns."""

    def __init__(self, profile: Profile) -> None:
        options = _options(profile)
        self._url = f"{_base(profile)}/chat/completions"
        self._headers = {**_headers(profile), **options.headers, "content-type": "application/json"}
        self._http = Http(idle_timeout_s=profile.timeout, secrets=(profile.api_key or "",))
        self._body = ChatBody(options.body, options.max_tokens_field)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Sequence[Chunk]]:
        reply = ChatReply()
        answer = self._http.post_stream(self._url, self._headers, self._body.encode(request))
        try:
            async for data in answer:
                chunks = reply.feed(data)
                if reply.complete:
                    answer.leave()
                if chunks:
                    yield chunks
                if reply.complete:
                    return
            yield reply.finish()
        finally:
            if not reply.complete:
                await answer.aclose()

    async def close(self) -> None:
        await self._http.close()


async def probe(profile: Profile) -> str:
    """Ask the server for its models; the answer is a line for a person."""
    http = Http(idle_timeout_s=profile.timeout, secrets=(profile.api_key or "",))
    try:
        body = await http.get(f"{_base(profile)}/models", {**_headers(profile), **_options(profile).headers})
    finally:
        await http.close()
    names = _model_names(body)
    if profile.model in names:
        return f"The server answers and offers {profile.model}."
    return f"The server answers and offers {len(names)} models, but {profile.model} is not in its list."


def model_info(profile: Profile) -> ModelInfo:
    options = _options(profile)
    return ModelInfo(
        context_window=options.context_window,
        max_output_tokens=options.max_output_tokens,
        native_tools=options.native_tools,
        sees_images=options.sees_images,
    )


def _options(profile: Profile) -> ChatOptions:
    try:
        return msgspec.convert(profile.options, ChatOptions)
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"The options of provider profile {profile.name!r} are wrong: {error}. Nothing was sent."
        ) from error


def _base(profile: Profile) -> str:
    base = (profile.base_url or "").strip().rstrip("/")
    return base.removesuffix("/chat/completions").rstrip("/")


def _headers(profile: Profile) -> Mapping[str, str]:
    return {"authorization": f"Bearer {profile.api_key}"} if profile.api_key else {}


class _Model(msgspec.Struct):
    id: str = ""


class _ModelList(msgspec.Struct):
    data: list[_Model] = []


def _model_names(body: bytes) -> list[str]:
    try:
        return [model.id for model in msgspec.json.decode(body, type=_ModelList).data]
    except msgspec.DecodeError as error:
        raise ProviderFault(
            FaultKind.INVALID_REQUEST,
            f"The server answers, but not with a list of models ({error}). Check the baseURL of the provider profile.",
        ) from error


DEFINITION = ProviderDefinition(
    type="openai-compatible",
    aliases=("openai-compat",),
    display_name="OpenAI-compatible",
    description="Any server that speaks OpenAI Chat Completions, near or far.",
    create_provider=OpenAiCompatible,
    setup_steps=(
        SetupStep(field="baseURL", prompt="Address of the API, up to and including /v1", required=True),
        SetupStep(field="model", prompt="Model", required=True),
        SetupStep(field="apiKey", prompt="API key, or $ENV:NAME; empty for a server without one", secret=True),
    ),
    probe_profile=probe,
    model_info=model_info,
)
