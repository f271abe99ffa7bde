"""From the name of a host to its numerical addresses."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]


async def resolve_name(host: str, port: int) -> Sequence[str]:
    """The numerical addresses of a host, as the system knows them."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))
