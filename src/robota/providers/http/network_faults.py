"""Turn a network error into a `ProviderFault` that names the host and the reason."""

import errno
import os
import re
import socket
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2
import msgspec

from robota.providers.fault import FaultKind, ProviderFault

# A local server that is just starting will listen soon; one that was not started never will.
RETRIES_IF_NOBODY_LISTENS: Final = 2
PACKED_NUMBER: Final = re.compile(r"\[Errno (\d+)\]")
REFUSED_ADDRESS: Final = (httpx2.UnsupportedProtocol, httpx2.InvalidURL, httpx2.LocalProtocolError, ValueError)
CHECK_PROXY: Final = "Check the variables that name a proxy, such as HTTPS_PROXY and ALL_PROXY."
CHECK_URL: Final = "Check the baseURL of the provider profile."


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """Where a request goes, and how long each of its steps may take."""

    url: str
    idle_s: float
    connect_s: float

    @property
    def shown(self) -> str:
        """The address without the parts that may contain a secret."""
        try:
            parts = urlsplit(self.url)
        except ValueError:
            return "the model server"
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    @property
    def host(self) -> str:
        try:
            return urlsplit(self.url).hostname or ""
        except ValueError:
            return ""

    @property
    def proxy(self) -> str:
        """The proxy that the environment names for this address, without its password; empty if there is none."""
        proxies = getproxies()
        proxy = proxies.get(urlsplit(self.url).scheme) or proxies.get("all") or ""
        if not proxy or is_loopback(self.host) or proxy_bypass(self.host):
            return ""
        scheme, _, address = proxy.rpartition("://")
        return f"{scheme or 'http'}://{address.rpartition('@')[2]}"


def fault_before_reply(error: Exception, route: Route) -> ProviderFault:
    """The fault for an error before any part of the response arrived."""
    message = str(error) or type(error).__name__
    server = route.shown
    if isinstance(error, REFUSED_ADDRESS):
        advice = CHECK_PROXY if "proxy" in message.lower() else CHECK_URL
        text = f"The request to {server} could not be made: {message}. {advice}"
        return ProviderFault(FaultKind.INVALID_REQUEST, text, reason=message)
    via = f" through the proxy {route.proxy}" if route.proxy else ""
    if isinstance(error, ImportError):
        return _missing_package(error, server, via)
    if isinstance(error, httpx2.ConnectTimeout):
        reason = f"no connection{via} within {route.connect_s:g} s"
        text = f"Could not connect to {server}{via} within {route.connect_s:g} s. Check the network and the baseURL."
        return ProviderFault(FaultKind.CONNECTION, text, reason=reason)
    if isinstance(error, httpx2.TimeoutException):
        text = (
            f"{server} did not answer within {route.idle_s:g} s. Retry, or raise the timeout of the provider profile."
        )
        return ProviderFault(FaultKind.CONNECTION, text, reason=f"no answer within {route.idle_s:g} s")
    if "CERTIFICATE_VERIFY_FAILED" in message:
        text = f"The certificate of {server} is not trusted: {message}. If it is yours, name its CA in SSL_CERT_FILE."
        return ProviderFault(FaultKind.INVALID_REQUEST, text, reason=f"its certificate is not trusted: {message}")
    return _unreachable(error, route, via)


def fault_in_reply(error: Exception, route: Route) -> ProviderFault:
    """The fault for an error after the response had begun."""
    if isinstance(error, httpx2.TimeoutException):
        reason = f"the server sent nothing for {route.idle_s:g} s"
        text = f"The model server sent nothing for {route.idle_s:g} s in the middle of its reply. Retry."
    else:
        reason = str(error) or type(error).__name__
        text = f"The connection broke in the middle of the reply: {reason}. Retry."
    return ProviderFault(FaultKind.STREAM_CUT, text, reason=reason)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    return host in ("localhost", "::1") or host.startswith("127.") or host.endswith(".localhost")


def _missing_package(error: ImportError, server: str, via: str) -> ProviderFault:
    """SOCKS proxies need a package that most people do not."""
    if "socks" in f"{via}{error}".lower():
        text = (
            f"{server} is reached{via}, which needs a package that is not installed. Install it with: pip install "
            "'robota[socks]'. Or unset ALL_PROXY, or use an HTTP proxy."
        )
        return ProviderFault(FaultKind.INVALID_REQUEST, text, reason="a package for SOCKS proxies is missing")
    text = f"{server} cannot be reached, because a Python package is missing: {error}. Reinstall Robota."
    return ProviderFault(FaultKind.INVALID_REQUEST, text, reason=str(error))


def _unreachable(error: Exception, route: Route, via: str) -> ProviderFault:
    cause = _cause(error)
    if isinstance(cause, ConnectionRefusedError) and is_loopback(route.host):
        text = (
            f"No model server listens at {route.shown}. Start it on this machine, or correct the baseURL of the "
            "provider profile: robota --configure. To see what works: robota doctor"
        )
        most = RETRIES_IF_NOBODY_LISTENS
        return ProviderFault(FaultKind.CONNECTION, text, reason="nothing listens there", most_retries=most)
    if isinstance(cause, socket.gaierror):
        name = urlsplit(route.proxy).hostname if route.proxy else route.host
        reason = f"the name {name} cannot be looked up: {cause.strerror or cause}"
        short = reason
    else:
        reason = str(error) or type(error).__name__
        if isinstance(cause, OSError) and cause.errno is not None and cause.errno in errno.errorcode:
            reason = os.strerror(cause.errno)
        short = f"{route.host}{via}: {reason}"
    text = f"Could not reach the model server at {route.shown}{via}: {reason}. Check the network and the baseURL."
    return ProviderFault(FaultKind.CONNECTION, text, reason=short)


def _cause(error: BaseException) -> BaseException:
    """The operating system's message, unwrapped from the libraries' exceptions."""
    faults = (_numbered(cause) for cause in _chain(error) if isinstance(cause, OSError))
    return next((cause for cause in faults if cause.errno is not None), error)


def _numbered(error: OSError) -> OSError:
    """The error that all addresses of a host had in common; asyncio puts it only into the text of another exception."""
    numbers = set(PACKED_NUMBER.findall(str(error))) if error.errno is None else set()
    if len(numbers) != 1:
        return error
    number = int(numbers.pop())
    return OSError(number, os.strerror(number))


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        current = waiting.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        group = current.exceptions if isinstance(current, BaseExceptionGroup) else ()
        waiting += [inner for inner in (*group, current.__cause__, current.__context__) if inner is not None]
