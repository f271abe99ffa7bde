"""Parse the requests that commands send to the proxy, and build those for the server. Ambiguous ones are refused."""

import re
from typing import Final

import h11
import msgspec

from robota.workspace.web.address import AddressRefused, WebAddress, parse_address

AUTHORITY: Final = re.compile(r"[^\s/?#@\\]+:[0-9]{1,5}")
# Headers that apply to the connection to the proxy, not to the message.
HOP_BY_HOP: Final = frozenset(
    (
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"upgrade",
    )
)

Headers = list[tuple[bytes, bytes]]


class ProxyError(Exception):
    """The proxy answers a request itself, with this status, instead of forwarding it."""

    def __init__(self, status: int, text: str, reason: str = "") -> None:
        super().__init__(text)
        self.status = status
        self.reason = reason


class ProxyRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The destination of a request, and the request to forward; None for a tunnel (CONNECT)."""

    address: WebAddress
    forwarded: h11.Request | None


def parse_proxy_request(request: h11.Request) -> ProxyRequest:
    """Parse a request. `ProxyError` if it is ambiguous."""
    target = request.target.decode("ascii")
    if request.method == b"CONNECT":
        if AUTHORITY.fullmatch(target) is None:
            raise ProxyError(400, "CONNECT needs a host and a port, and nothing else.")
        return ProxyRequest(address=_address(f"http://{target}/"), forwarded=None)
    if not target.lower().startswith("http://"):
        raise ProxyError(400, "This is a proxy: it takes CONNECT, and requests whose target begins with http://.")
    address = _address(target)
    return ProxyRequest(address=address, forwarded=_forwarded(request, address))


def response_for_command(response: h11.Response) -> h11.Response:
    """The server's response, with headers that close the connection after it."""
    headers = [*_end_to_end(list(response.headers)), (b"connection", b"close")]
    return h11.Response(status_code=response.status_code, reason=response.reason, headers=headers)


def _forwarded(request: h11.Request, address: WebAddress) -> h11.Request:
    """The request for the server, with our own Host header, and closing the connection after it."""
    headers = list(request.headers)
    if {b"content-length", b"transfer-encoding"} <= {name for name, _ in headers}:
        raise ProxyError(400, "The request says in two ways how long it is. Nothing was sent.")
    for host in (value.decode("ascii", "replace") for name, value in headers if name == b"host"):
        if not _same_server(_address(f"http://{host}/"), address):
            raise ProxyError(400, "The request line and the Host header name different hosts. Nothing was sent.")
    kept = [(name, value) for name, value in _end_to_end(headers) if name != b"host"]
    return h11.Request(
        method=request.method,
        target=address.target.encode(),
        headers=[(b"host", address.authority.encode()), *kept, (b"connection", b"close")],
    )


def _end_to_end(headers: Headers) -> Headers:
    listed = b",".join(value for name, value in headers if name == b"connection").lower()
    dropped = HOP_BY_HOP | {word.strip() for word in listed.split(b",")}
    # The length of a message must not depend on headers that the Connection header names.
    dropped -= {b"content-length", b"transfer-encoding"}
    return [(name, value) for name, value in headers if name not in dropped]


def _address(url: str) -> WebAddress:
    try:
        return parse_address(url)
    except AddressRefused as error:
        raise ProxyError(400, str(error)) from error


def _same_server(one: WebAddress, other: WebAddress) -> bool:
    return (one.host, one.port) == (other.host, other.port)
