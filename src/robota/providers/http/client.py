"""The only network I/O of providers: POST a body, stream the response, turn every failure into a fault."""

import asyncio
import ssl
import time
from collections.abc import Coroutine, Mapping
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies

import httpx2

from robota.providers.fault import ProviderFault
from robota.providers.http.faults import fault_of_status
from robota.providers.http.network_faults import Route, fault_before_reply, fault_in_reply, is_loopback
from robota.providers.http.transport import DirectTransport
from robota.secrets.redaction import covered_values
from robota.version import VERSION

CONNECT_TIMEOUT_S: Final = 15.0
DEFAULT_IDLE_TIMEOUT_S: Final = 300.0
DRAIN_TIMEOUT_S: Final = 2.0
ERROR_BODY_LIMIT: Final = 64 * 1024
READ_AHEAD_LIMIT: Final = 4 * 1024 * 1024

# ValueError is how Python itself refuses an address, ImportError how httpx2 refuses a kind of proxy.
NETWORK_ERRORS: Final = (
    httpx2.HTTPError,
    httpx2.InvalidURL,
    httpx2.StreamError,
    ImportError,
    OSError,
    ValueError,
)


class Http:
    """The connection to one server, opened at the first request and kept for the next.

    `secrets` never appear in a fault, whatever a server echoes back, unless they are too short to be recognized.
    """

    def __init__(self, *, idle_timeout_s: float | None = None, secrets: tuple[str, ...] = ()) -> None:
        self.idle_s = idle_timeout_s if idle_timeout_s is not None else DEFAULT_IDLE_TIMEOUT_S
        self._secrets = secrets
        self._client: httpx2.AsyncClient | None = None
        self._opening = asyncio.Lock()
        self._draining: set[asyncio.Task[None]] = set()

    def post_stream(self, url: str, headers: Mapping[str, str], body: bytes) -> "HttpAnswer":
        """Send `body`; the answer yields what arrived together, and raises `ProviderFault` if anything fails."""
        answer = HttpAnswer(self._draining)
        answer.start(self._exchange("POST", url, headers, body, answer))
        return answer

    async def get(self, url: str, headers: Mapping[str, str]) -> bytes:
        """The whole body of a small answer."""
        answer = HttpAnswer(self._draining)
        answer.start(self._exchange("GET", url, headers, b"", answer))
        return b"".join([data async for data in answer])

    async def close(self) -> None:
        for task in self._draining:
            task.cancel()
        if self._draining:
            await asyncio.wait(self._draining)
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _exchange(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, answer: "HttpAnswer"
    ) -> None:
        """Perform one request, in a separate task, so that a slow consumer never delays reading."""
        route = Route(url=url, idle_s=self.idle_s, connect_s=CONNECT_TIMEOUT_S)
        started = False
        try:
            client = await self._open(url)
            async with client.stream(method, url, headers=dict(headers), content=body) as response:
                if response.status_code != 200:
                    raise await _refused(response)
                started = True
                async for data in response.aiter_bytes():
                    await answer.put(data)
        except ProviderFault as fault:
            raise self.without_secrets(fault) from None
        except NETWORK_ERRORS as error:
            translated = fault_in_reply(error, route) if started else fault_before_reply(error, route)
            # The original may quote headers, so it is not chained.
            raise self.without_secrets(translated) from None

    async def _open(self, url: str) -> httpx2.AsyncClient:
        async with self._opening:
            if self._client is None:
                parts = _address(url)
                tls = await _tls_context(parts.scheme)
                may_use_proxy = not is_loopback(parts.hostname or "") and bool(getproxies())
                self._client = httpx2.AsyncClient(
                    transport=None if may_use_proxy else DirectTransport(tls),
                    verify=tls,
                    trust_env=may_use_proxy,
                    timeout=httpx2.Timeout(self.idle_s, connect=CONNECT_TIMEOUT_S, pool=CONNECT_TIMEOUT_S),
                    headers={"user-agent": f"robota/{VERSION}", "accept-encoding": "identity"},
                )
            return self._client

    def without_secrets(self, fault: ProviderFault) -> ProviderFault:
        """The same fault with secrets redacted, safe to show and log."""
        return ProviderFault(
            fault.kind,
            covered_values(fault.message, self._secrets),
            reason=covered_values(fault.reason, self._secrets),
            status=fault.status,
            retry_after_s=fault.retry_after_s,
            most_retries=fault.most_retries,
        )


class HttpAnswer:
    """The bytes of one answer, in the order they arrived. Reads that accumulate before they are consumed are joined."""

    def __init__(self, draining: set[asyncio.Task[None]]) -> None:
        self._draining = draining
        self._reads: list[bytes] = []
        self._waiting = 0
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._task: asyncio.Task[None] | None = None

    def start(self, exchange: Coroutine[Any, Any, None]) -> None:
        self._task = asyncio.create_task(exchange)
        self._task.add_done_callback(lambda _: self._news.set())

    async def put(self, data: bytes) -> None:
        """Called by the exchange; waits while far more is unread than any reply contains."""
        self._reads.append(data)
        self._waiting += len(data)
        self._news.set()
        if self._waiting > READ_AHEAD_LIMIT:
            self._room.clear()
            await self._room.wait()

    def __aiter__(self) -> "HttpAnswer":
        return self

    async def __anext__(self) -> bytes:
        await self._news.wait()
        if self._reads:
            data = b"".join(self._reads)
            self._reads.clear()
            self._waiting = 0
            self._room.set()
            if self._task is None or not self._task.done():
                self._news.clear()
            return data
        if self._task is not None:
            self._task.result()
        raise StopAsyncIteration

    def leave(self) -> None:
        """The caller needs no more data. The rest is read in the background, so that the connection can be reused."""
        task = self._task
        if task is None or task.done():
            _forget_outcome(task)
            return
        self._draining.add(task)
        task.add_done_callback(self._draining.discard)
        task.add_done_callback(_forget_outcome)
        timeout = asyncio.get_running_loop().call_later(DRAIN_TIMEOUT_S, task.cancel)
        task.add_done_callback(lambda _: timeout.cancel())
        self._room.set()

    async def aclose(self) -> None:
        """Drop the request."""
        task = self._task
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait([task])
        _forget_outcome(task)


def _forget_outcome(task: asyncio.Task[None] | None) -> None:
    """Mark the outcome as retrieved; otherwise asyncio logs a warning at exit."""
    if task is not None and not task.cancelled():
        task.exception()


async def _tls_context(scheme: str) -> ssl.SSLContext:
    if scheme == "https":
        # Reading the certificates of the system takes longer than a whole answer from a local server.
        return await asyncio.to_thread(httpx2.create_ssl_context)
    # Never used; if it ever were, it would trust no server.
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


async def _refused(response: httpx2.Response) -> ProviderFault:
    body = b""
    async for data in response.aiter_bytes():
        body += data
        if len(body) > ERROR_BODY_LIMIT:
            break
    headers = {name.lower(): value for name, value in response.headers.items()}
    return fault_of_status(response.status_code, headers, body, time.time())


def _address(url: str) -> SplitResult:
    parts = urlsplit(url)
    if parts.port == 0:
        raise ValueError("port 0 cannot be connected to")
    return parts
