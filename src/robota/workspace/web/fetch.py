"""Fetch from the web: GET only, bounded in time and size, and never from a machine that `AddressRules` refuses.

A name is resolved once, all its addresses are checked, and the connection goes to a checked address. The HTTP library
would resolve the name again, and its owner could answer with another address the second time (DNS rebinding).
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final
from urllib.parse import urljoin

import httpx2
import msgspec

from robota.version import VERSION
from robota.workspace.web.address import AddressRefused, AddressRules, Resolve, WebAddress, parse_address, resolve_name

MAX_BYTES: Final = 5_000_000
TIMEOUT_S: Final = 30.0
CONNECT_TIMEOUT_S: Final = 10.0
MAX_REDIRECTS: Final = 5
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
HEADERS: Final = {
    "user-agent": f"robota/{VERSION}",
    "accept": "text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.9,*/*;q=0.1",
    # Protects against small responses that decompress to huge ones.
    "accept-encoding": "identity",
}


class FetchFailed(Exception):
    """There was no usable response. The message is for the model."""


class Fetched(msgspec.Struct, frozen=True, kw_only=True):
    """A server's response. If `is_cut`, only the first bytes of the body were read."""

    url: str
    status: int
    reason: str
    content_type: str
    body: bytes
    is_cut: bool


class Redirected(msgspec.Struct, frozen=True, kw_only=True):
    """A redirect to another host, which has not been approved yet."""

    url: str


class Fetcher:
    """Fetches URLs that the rules allow."""

    def __init__(
        self,
        rules: AddressRules,
        *,
        resolve: Resolve = resolve_name,
        wants: Callable[[str], bool] = lambda content_type: True,
        timeout_s: float = TIMEOUT_S,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        """`wants` decides by the content type whether the body is read."""
        self._rules = rules
        self._resolve = resolve
        self._wants = wants
        self._timeout_s = timeout_s
        self._max_bytes = max_bytes

    async def fetch(self, url: str) -> Fetched | Redirected:
        """Follow redirects on the same host; raise `AddressRefused` or `FetchFailed`."""
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._follow(parse_address(url))
        except TimeoutError as error:
            raise FetchFailed(f"{url} did not answer in full within {self._timeout_s:g} s.") from error

    async def _follow(self, address: WebAddress) -> Fetched | Redirected:
        for _ in range(MAX_REDIRECTS + 1):
            answer = await self._get(address, await self._checked_addresses(address))
            if isinstance(answer, Fetched):
                return answer
            following = parse_address(urljoin(address.url, answer.url))
            if following.host != address.host:
                await self._checked_addresses(following)
                return Redirected(url=following.url)
            address = following
        raise FetchFailed(f"{address.url} was the end of {MAX_REDIRECTS} redirects and redirects again.")

    async def _checked_addresses(self, address: WebAddress) -> Sequence[str]:
        try:
            ip_addresses = [address.host] if address.is_numerical else await self._resolve(address.host, address.port)
        except (OSError, UnicodeError) as error:
            raise FetchFailed(f"The host {address.host} could not be found: {error}.") from error
        for each in ip_addresses:
            kind = self._rules.refusal(each)
            if kind is not None:
                raise AddressRefused(f"{address.url} leads to {each}, {kind}. Nothing was sent to it.")
        return ip_addresses

    async def _get(self, address: WebAddress, ip_addresses: Sequence[str]) -> Fetched | Redirected:
        trouble = "it has no address"
        # Loading certificates takes a while, so it is done only for https.
        verify = await asyncio.to_thread(httpx2.create_ssl_context) if address.scheme == "https" else False
        timeout = httpx2.Timeout(self._timeout_s, connect=CONNECT_TIMEOUT_S)
        async with httpx2.AsyncClient(verify=verify, trust_env=False, timeout=timeout) as client:
            for ip_address in ip_addresses:
                try:
                    return await self._get_from(client, address, ip_address)
                except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                    trouble = str(error) or type(error).__name__
                except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
                    raise FetchFailed(f"{address.url} failed: {str(error) or type(error).__name__}.") from error
        raise FetchFailed(f"{address.url} could not be reached: {trouble}.")

    async def _get_from(self, client: httpx2.AsyncClient, address: WebAddress, ip_address: str) -> Fetched | Redirected:
        headers = {**HEADERS, "host": address.authority}
        named = {"sni_hostname": address.host}
        async with client.stream("GET", address.url_at(ip_address), headers=headers, extensions=named) as response:
            location = response.headers.get("location")
            if response.status_code in REDIRECTS and location:
                return Redirected(url=location)
            content_type = response.headers.get("content-type", "")
            body, is_cut = await self._body(response) if self._wants(content_type) else (b"", True)
        return Fetched(
            url=address.url,
            status=response.status_code,
            reason=response.reason_phrase,
            content_type=content_type,
            body=body,
            is_cut=is_cut,
        )

    async def _body(self, response: httpx2.Response) -> tuple[bytes, bool]:
        body = bytearray()
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > self._max_bytes:
                return bytes(body[: self._max_bytes]), True
        return bytes(body), False
