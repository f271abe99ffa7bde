"""What a provider is: a record made of data and two functions. No code outside a provider's module knows its name."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Protocol

import msgspec

from robota.config.profiles import Profile
from robota.providers.chunks import Chunk, ModelRequest


class Provider(Protocol):
    """Something that answers. One instance serves a whole session and keeps its connection."""

    def stream(self, request: ModelRequest) -> AsyncIterator[Sequence[Chunk]]:
        """The reply, in batches of whatever arrived together. Ends after a `FinishChunk`, or raises `ProviderFault`.

        Closing the iterator (`aclose`) drops the request.
        """
        ...

    async def close(self) -> None: ...


class ModelInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What we know of a model; the defaults serve for one we have never heard of."""

    context_window: int = 128_000
    max_output_tokens: int | None = None
    native_tools: bool = True
    sees_images: bool = False


class SetupStep(msgspec.Struct, frozen=True, kw_only=True):
    """One question of the set-up: which field of the profile it fills and how it is asked."""

    field: str
    prompt: str
    required: bool = False
    secret: bool = False
    default: str | None = None


class ProviderDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of provider, by the contract of the seed."""

    type: str
    display_name: str
    description: str
    create_provider: Callable[[Profile], Provider]
    defaults: dict[str, Any] = {}
    setup_steps: tuple[SetupStep, ...] = ()
    requires_api_key: bool = False
    aliases: tuple[str, ...] = ()
    probe_profile: Callable[[Profile], Awaitable[str]] | None = None
    model_info: Callable[[Profile], ModelInfo] = lambda profile: ModelInfo()
