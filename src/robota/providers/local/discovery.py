"""Finds model servers that run on this machine."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from robota.config.profiles.profile import Profile
from robota.providers.definition import ProviderDefinition
from robota.providers.fault import ProviderFault
from robota.providers.kinds.openai_compatible import list_models
from robota.providers.registry import definitions

# Reached only if a server accepts the connection and then does not answer.
ANSWER_TIMEOUT_S: Final = 1.0


class FoundServer(msgspec.Struct, frozen=True, kw_only=True):
    """A server that answers: a profile of this type and address with one of these models will work."""

    type: str
    base_url: str
    models: tuple[str, ...]


def discover() -> Sequence[FoundServer]:
    """All servers that answer, in the order of the registry. For code that has no event loop."""
    return asyncio.run(find_servers(definitions()))


async def find_servers(
    kinds: Iterable[ProviderDefinition], timeout_s: float = ANSWER_TIMEOUT_S
) -> Sequence[FoundServer]:
    """Ask the usual address of every kind concurrently. Addresses without such a server are skipped."""
    answers = [_ask(kind.type, kind.local_address, timeout_s) for kind in kinds if kind.local_address is not None]
    return [server for server in await asyncio.gather(*answers) if server is not None]


async def _ask(type: str, base_url: str, timeout_s: float) -> FoundServer | None:
    try:
        models = await list_models(Profile(type=type, base_url=base_url, timeout=timeout_s))
    except ProviderFault:
        return None
    return FoundServer(type=type, base_url=base_url, models=tuple(model.name for model in models))
