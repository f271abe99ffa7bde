"""The provider type `openai-compatible`: any server that speaks Chat Completions."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from robota.config.profiles.profile import Profile
from robota.config.settings.schema import Effort
from robota.providers.definition import ModelInfo, OfferedModel, Probed, ProviderDefinition, SetupStep, catalogued
from robota.providers.fault import ProviderFault
from robota.providers.profile_options import ServerOptions, options_of
from robota.providers.wire.chat.body import ChatBody, ChatQuirks
from robota.providers.wire.chat.reply import chat_reply
from robota.providers.wire.client import WireClient, offered_models, post_once
from robota.text.counted import counted

# How servers say that they have no list of models.
LISTS_NOTHING: Final = frozenset({404, 405, 501})


REASONING_EFFORTS: Final = {
    effort: {"reasoningEffort": effort.value} for effort in (Effort.LOW, Effort.MEDIUM, Effort.HIGH)
}


class ChatOptions(ServerOptions, frozen=True, kw_only=True, rename="camel"):
    """The `options` of a profile in addition to `ChatQuirks`.

    `send_max_output` sends the catalogue's limit too: most servers have a sensible default, and some refuse a request
    whose limit does not fit the window.
    """

    send_max_output: bool = False
    reasoning_effort: str | None = None

    @property
    def added(self) -> dict[str, Any]:
        """Fields that are added to the body of every request."""
        return self.body if self.reasoning_effort is None else {"reasoning_effort": self.reasoning_effort, **self.body}


def chat_client(profile: Profile) -> WireClient:
    """A client that speaks Chat Completions with the server of the profile."""
    options = options_of(profile, ChatOptions)
    return WireClient(
        profile,
        headers={**_headers(profile), **options.headers},
        url=f"{_base(profile)}/chat/completions",
        body=ChatBody(options.added, options_of(profile, ChatQuirks)),
        new_reply=chat_reply,
    )


async def probe(profile: Profile) -> Probed:
    """Ask the server for its models or, if it lists none, the model for a one-word reply."""
    try:
        windows = {model.name: model.context_window for model in await list_models(profile)}
    except ProviderFault as fault:
        if fault.status not in LISTS_NOTHING:
            raise
        windows = {}
    if not windows:
        await _say_a_word(profile)
        return Probed(text=f"{profile.model} answers. The server lists no models.")
    if profile.model in windows:
        return Probed(text=f"The server answers and offers {profile.model}.", window=windows[profile.model])
    offer = counted(len(windows), "model")
    text = f"The server answers and offers {offer}, but {profile.model} is not in its list."
    return Probed(text=text, offers_model=False, models=tuple(windows))


async def _say_a_word(profile: Profile) -> None:
    """The smallest request; raises `ProviderFault` if it is not answered."""
    request = {"model": profile.model, "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1}
    headers = {**_headers(profile), **options_of(profile, ChatOptions).headers}
    await post_once(profile, f"{_base(profile)}/chat/completions", headers, msgspec.json.encode(request))


async def list_models(profile: Profile) -> list[OfferedModel]:
    """The models a server offers, in its order."""
    headers = {**_headers(profile), **options_of(profile, ChatOptions).headers}
    return await offered_models(profile, f"{_base(profile)}/models", headers)


def model_info(profile: Profile) -> ModelInfo:
    """The facts about the profile's model."""
    options, info = options_of(profile, ChatOptions), catalogued(profile)
    if options.send_max_output:
        return info
    return msgspec.structs.replace(info, max_output_tokens=options.max_output_tokens)


def _base(profile: Profile) -> str:
    base = (profile.base_url or "").strip().rstrip("/")
    return base.removesuffix("/chat/completions").rstrip("/")


def _headers(profile: Profile) -> Mapping[str, str]:
    return {"authorization": f"Bearer {profile.api_key}"} if profile.api_key else {}


DEFINITION = ProviderDefinition(
    type="openai-compatible",
    aliases=("openai-compat",),
    display_name="OpenAI-compatible",
    description="Any server with the OpenAI Chat Completions API, local or remote.",
    create_provider=chat_client,
    setup_steps=(
        SetupStep(field="baseURL", prompt="Address of the API, up to and including /v1", required=True),
        SetupStep(field="model", prompt="Model", required=True),
        SetupStep(field="apiKey", prompt="API key, or $ENV:NAME; empty for a server without one", secret=True),
    ),
    probe_profile=probe,
    list_models=list_models,
    model_info=model_info,
    efforts=REASONING_EFFORTS,
)
