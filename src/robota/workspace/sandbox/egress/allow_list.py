"""Decide which hosts a sandboxed command may connect to: the name is checked, resolved once, and its addresses too."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final

from robota.config.settings.allowed_hosts import (
    USUAL_PORTS,
    AllowedAddress,
    AllowedHost,
    AllowedName,
    NamesBelow,
    allowed_host,
)
from robota.workspace.web.address import AddressRules, Resolve, WebAddress, resolve_name

NOT_LISTED: Final = "not in sandbox.allowedHosts"
# A lookup occupies a thread of the process, which other work needs too.
LOOKUPS_AT_ONCE: Final = 2


class HostRefused(Exception):
    """The host is not allowed. `missing` is the entry of the list that would allow it."""

    def __init__(self, host: str, why: str, missing: str) -> None:
        super().__init__(f"The sandbox refused a connection to {host} ({why}).")
        self.missing = missing


class AllowList:
    """The entries of `sandbox.allowedHosts`."""

    def __init__(self, entries: Iterable[str], resolve: Resolve = resolve_name) -> None:
        """The settings have validated the entries; an invalid one raises `NoHost`."""
        self._entries = tuple(allowed_host(entry) for entry in entries)
        self._resolve = resolve
        self._lookups = asyncio.Semaphore(LOOKUPS_AT_ONCE)

    def names(self, host: str) -> bool:
        """Whether the host is on the list with any port."""
        return any(_covers(entry, host) for entry in self._entries)

    async def addresses(self, address: WebAddress) -> Sequence[str]:
        """The only addresses to connect to. Raises `HostRefused`, or `OSError` if the name cannot be resolved."""
        host, port = address.host, address.port
        if not any(_covers(entry, host) and port in entry.ports for entry in self._entries):
            raise HostRefused(entry_for(host, port), NOT_LISTED, missing=entry_for(host, port))
        if address.is_numerical:
            return [host]
        resolved = await self._look_up(host, port)
        rules = AddressRules(exempt=self._listed_addresses(port))
        for each in resolved:
            kind = rules.refusal(each)
            if kind is not None:
                why = f"it resolves to {each}, {kind}, which is not listed itself"
                raise HostRefused(entry_for(host, port), why, missing=entry_for(each, port))
        return resolved

    async def _look_up(self, host: str, port: int) -> Sequence[str]:
        await self._lookups.acquire()
        lookup = asyncio.ensure_future(self._resolve(host, port))
        lookup.add_done_callback(self._over)
        # A cancelled caller does not free the thread, so it must not release the semaphore either.
        return await asyncio.shield(lookup)

    def _over(self, lookup: "asyncio.Future[Sequence[str]]") -> None:
        self._lookups.release()
        if not lookup.cancelled():
            lookup.exception()  # retrieve it: the caller may be gone

    def _listed_addresses(self, port: int) -> tuple[str, ...]:
        return tuple(
            entry.address for entry in self._entries if isinstance(entry, AllowedAddress) and port in entry.ports
        )


def entry_for(host: str, port: int) -> str:
    """The entry of the list that would allow this host and port."""
    name = f"[{host}]" if ":" in host else host
    return name if port in USUAL_PORTS else f"{name}:{port}"


def _covers(entry: AllowedHost, host: str) -> bool:
    """Whether an entry matches `host`, normalized as in `WebAddress`: lower case, without a trailing dot."""
    match entry:
        case AllowedName(name=name):
            return host == name
        case NamesBelow(parent=parent):
            return host.endswith(f".{parent}")
        case AllowedAddress(address=address):
            return host == address
