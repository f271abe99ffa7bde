"""How browsers are let in: by a link that works once, or by a code that the terminal shows."""

import hmac
import secrets
from collections.abc import Callable
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from robota.log.chain.writer import wall_clock_ms
from robota.protocol.commands import Accepted, Refused
from robota.serving.web.devices import Access, Device, Devices, LetInBrowser
from robota.serving.web.guard import DEVICE, Address, problem
from robota.serving.web.request_body import BadRequest, reply, value_of
from robota.text.visible import single_line

COOKIE_AGE_S: Final = 90 * 24 * 3600
CODE_DIGITS: Final = 8
CODE_VALID_MS: Final = 5 * 60_000
MAX_TRIES: Final = 5
# So that nobody can try more than 40 codes in five minutes, on whatever number of connections.
MAX_PAIRINGS: Final = 8
NO_CODE: Final = "This code is not valid any more. Ask for another one."


class LinkEntered(msgspec.Struct, frozen=True, kw_only=True):
    """The secret of a link, and what the browser calls itself."""

    token: str
    name: str = ""


class Knock(msgspec.Struct, frozen=True, kw_only=True):
    """A browser that has no link."""

    name: str = ""


class CodeEntered(msgspec.Struct, frozen=True, kw_only=True):
    """The code that its user read in the terminal."""

    id: str
    code: str


class LinkWanted(msgspec.Struct, frozen=True, kw_only=True):
    """A link for another browser."""

    access: Access = Access.FULL


class Pairing(msgspec.Struct, kw_only=True):
    """A browser that was shown no code: its user must read it in the terminal."""

    name: str
    code: str
    until_ms: int
    tries: int = 0


class LettingIn:
    """Lets browsers in and keeps them out."""

    def __init__(self, devices: Devices, address: Address, tell: Callable[[str], None]) -> None:
        self.devices = devices
        self._address = address
        self._tell = tell
        self._pairings: dict[str, Pairing] = {}

    def routes(self) -> tuple[Route, ...]:
        """Its part of the interface."""
        return (
            self._route("/api/enter", self._enter),
            self._route("/api/pair", self._knock),
            self._route("/api/pair/code", self._enter_code),
            Route("/api/devices", self._list),
            self._route("/api/devices/link", self._link),
            self._route("/api/devices/{device_id}/revoke", self._revoke),
        )

    def _route(self, path: str, handler: Callable[[Request], Any]) -> Route:
        async def answered(request: Request) -> Response:
            device: Device | None = request.scope.get(DEVICE)
            if device is not None and self.devices.access_of(device) is Access.VIEW:
                return problem(403, "read_only", "This page only shows sessions.")
            try:
                response: Response = await handler(request)
            except BadRequest as bad:
                return bad.response
            return response

        return Route(path, answered, methods=["POST"])

    async def _enter(self, request: Request) -> Response:
        link = await value_of(request, LinkEntered)
        admission = self.devices.enter(link.token, _name(link.name, request))
        if admission is None:
            return problem(403, "used_link", "This link was used already, or the server was started again.")
        return self._admitted(admission)

    async def _knock(self, request: Request) -> Response:
        """A code is for browsers of other machines; on this one, a link can be copied."""
        knock = await value_of(request, Knock)
        if self._address.is_loopback:
            return problem(403, "needs_link", "Open the link that the terminal shows.")
        now_ms = wall_clock_ms()
        self._pairings = {key: each for key, each in self._pairings.items() if each.until_ms > now_ms}
        if len(self._pairings) >= MAX_PAIRINGS:
            return problem(429, "too_many", "Too many browsers wait for a code. Try again in five minutes.")
        name, code = _name(knock.name, request), f"{secrets.randbelow(10**CODE_DIGITS):0{CODE_DIGITS}}"
        pairing_id = secrets.token_urlsafe(16)
        self._pairings[pairing_id] = Pairing(name=name, code=code, until_ms=now_ms + CODE_VALID_MS)
        host = "" if request.client is None else request.client.host
        self._tell(f"{name} at {host} wants to use the page. If that is you, its code is {code[:4]} {code[4:]}.")
        return reply({"id": pairing_id})

    async def _enter_code(self, request: Request) -> Response:
        entered = await value_of(request, CodeEntered)
        pairing = self._pairings.get(entered.id)
        if pairing is None or pairing.until_ms <= wall_clock_ms():
            return problem(403, "no_code", NO_CODE)
        if pairing.tries >= MAX_TRIES:  # kept until its time is over: it takes up the place of another try
            return problem(403, "no_code", NO_CODE)
        pairing.tries += 1
        digits = "".join(entered.code.split())
        is_right = hmac.compare_digest(digits.encode("utf-8", "replace"), pairing.code.encode())
        if is_right:
            del self._pairings[entered.id]
        else:
            return problem(403, "wrong_code", "That is not the code that the terminal shows.")
        return self._admitted(self.devices.admit(pairing.name, Access.FULL))

    def _admitted(self, admission: LetInBrowser) -> Response:
        device = admission.device
        response = reply({"key": admission.key, "deviceId": device.id, "access": self.devices.access_of(device)})
        response.set_cookie(
            self._address.cookie,
            admission.cookie,
            max_age=COOKIE_AGE_S,
            path="/",
            secure=self._address.scheme == "https",
            httponly=True,
            samesite="strict",
        )
        return response

    async def _list(self, request: Request) -> Response:
        own = request.scope[DEVICE].id
        devices = self.devices.listed()
        return reply([{**_shown(device), "isOwn": device.id == own} for device in devices])

    async def _link(self, request: Request) -> Response:
        wanted = await value_of(request, LinkWanted)
        return reply({"token": self.devices.link_secret(wanted.access), "access": wanted.access})

    async def _revoke(self, request: Request) -> Response:
        device_id = str(request.path_params["device_id"])
        if self.devices.revoke(device_id):
            return reply(Accepted(id=device_id))
        return reply(Refused(code="no_device", message="There is no such browser. Nothing was changed."), 404)


def _shown(device: Device) -> dict[str, Any]:
    return {"id": device.id, "name": device.name, "access": device.access, "sinceMs": device.since_ms}


def _name(name: str, request: Request) -> str:
    return single_line(name or request.headers.get("user-agent", "a browser"), 60)
