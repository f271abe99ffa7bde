"""What every request must be: for this host, from the page of this server, from a browser that was let in."""

import ipaddress
from collections.abc import Callable, Collection, Iterable
from http.cookies import CookieError, SimpleCookie
from typing import Any, Final

import msgspec
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from robota.serving.web.devices import Device, Devices

API: Final = "/api/"
# These are how a browser is let in; everything else of the interface needs its two secrets.
OPEN_TO_ALL: Final = frozenset({"/api/enter", "/api/pair", "/api/pair/code"})
DEVICE: Final = "robota.device"
KEY_HEADER: Final = "x-robota-key"
POLICY: Final = "; ".join(
    (
        *("default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data: blob:"),
        *("connect-src 'self'", "manifest-src 'self'", "base-uri 'none'", "form-action 'none'"),
        *("frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types robota"),
    )
)
HEADERS: Final = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=(), payment=(), usb=()"),
)


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """Where the server is reached. `names` are host names besides those of this machine's loopback."""

    scheme: str
    port: int
    is_loopback: bool
    names: frozenset[str] = frozenset()

    @property
    def cookie(self) -> str:
        """The name of the cookie: browsers share cookies between the ports of a host."""
        return f"robota-{self.port}"

    def is_host(self, host: str) -> bool:
        """Whether a Host header names this server. A name that somebody makes point here is none of ours; an address
        in digits cannot be made to point anywhere."""
        name, port = _host_and_port(host, 443 if self.scheme == "https" else 80)
        if port != self.port:
            return False
        if name in ("127.0.0.1", "localhost", "::1") or name in self.names:
            return True
        return not self.is_loopback and _is_address(name)


class RequestGuard:
    """Refuses what is not for this server, and adds the headers that confine the page."""

    def __init__(self, app: ASGIApp, address: Address, devices: Devices, report: Callable[[Exception], None]) -> None:
        self._app = app
        self._address = address
        self._devices = devices
        self._report = report

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        is_begun = False

        async def send_confined(message: Message) -> None:
            nonlocal is_begun
            if message["type"] == "http.response.start":
                is_begun = True
                message = {**message, "headers": [*_without_ours(message["headers"]), *HEADERS]}
            await send(message)

        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        answer = self._refusal(scope, headers)
        try:
            await (answer or self._app)(scope, receive, send_confined)
        except (ConnectionError, TimeoutError):
            raise  # the browser has gone
        except Exception as error:  # a bug must not tell the page its insides
            self._report(error)
            if is_begun:
                raise
            await problem(500, "internal_error", "Something went wrong here. The terminal says more.")(
                scope, receive, send_confined
            )

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> Response | None:
        if not self._address.is_host(headers.get("host", "")):
            return problem(421, "other_host", "This server is reached under another address.")
        if not scope["path"].startswith(API):
            return None if scope["method"] in ("GET", "HEAD") else problem(405, "method", "Pages can only be read.")
        if headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return problem(403, "other_origin", "Only the page of this server may ask that.")
        if scope["method"] not in ("GET", "HEAD"):
            own = f"{self._address.scheme}://{headers.get('host', '')}"
            if headers.get("origin") != own:
                return problem(403, "other_origin", "Only the page of this server may do that.")
            if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
                return problem(415, "not_json", "Requests are JSON.")
        if scope["path"] in OPEN_TO_ALL:
            return None
        device = self._device(headers)
        if device is None:
            return problem(401, "not_let_in", "This browser was not let in. Open the link that the terminal shows.")
        scope[DEVICE] = device
        return None

    def _device(self, headers: dict[str, str]) -> Device | None:
        try:
            morsel = SimpleCookie(headers.get("cookie", "")).get(self._address.cookie)
        except CookieError:
            return None
        return None if morsel is None else self._devices.known(morsel.value, headers.get(KEY_HEADER, ""))


def problem(status: int, code: str, message: str) -> JSONResponse:
    """A refusal, in the form of a refused command."""
    content: dict[str, Any] = {"receipt": "refused", "code": code, "message": message}
    return JSONResponse(content, status_code=status, headers={"cache-control": "no-store"})


def _without_ours(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    ours: Collection[bytes] = {name for name, _ in HEADERS}
    return [(name, value) for name, value in headers if name.lower() not in ours]


def _host_and_port(host: str, usual: int) -> tuple[str, int]:
    if host.startswith("["):
        name, _, rest = host[1:].partition("]")
        port = rest.removeprefix(":")
    else:
        name, _, port = host.partition(":")
    is_number = port.isascii() and port.isdecimal() and len(port) < 6
    return name.lower(), int(port) if is_number else usual if not port else -1


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
