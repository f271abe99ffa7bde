"""Who may use the page: links that work once, and the browsers that used one. Only digests are stored."""

import hashlib
import hmac
import secrets
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from robota.config.durable_file import read_file
from robota.config.transaction import transaction
from robota.log.chain.writer import wall_clock_ms
from robota.text.visible import single_line

SECRET_BYTES: Final = 32
MAX_DEVICES: Final = 64
MAX_LINKS: Final = 32
KEPT_MS: Final = 90 * 24 * 3_600_000
MAX_NAME: Final = 60


class Access(StrEnum):
    """What a browser may do."""

    FULL = "full"
    VIEW = "view"


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """A browser that was let in. It shows two secrets: a cookie, and a key that only pages of this address can read."""

    id: str
    name: str
    access: Access
    cookie_digest: str
    key_digest: str
    since_ms: int
    seen_ms: int


class LetInBrowser(msgspec.Struct, frozen=True, kw_only=True):
    """What a browser is given."""

    device: Device
    cookie: str
    key: str


class Devices:
    """The browsers of one port. With a path they are remembered, for when the server is started again on this port."""

    def __init__(self, path: Path | None, most_access: Access) -> None:
        self._path = path
        self._most = most_access
        self._links: dict[str, Access] = {}  # by digest
        self._devices: dict[str, Device] = {device.id: device for device in _stored(path)}

    def link_secret(self, access: Access) -> str:
        """A new secret for a link. It can be exchanged once."""
        secret = secrets.token_urlsafe(SECRET_BYTES)
        while len(self._links) >= MAX_LINKS:
            del self._links[next(iter(self._links))]
        self._links[_digest(secret)] = access
        return secret

    def enter(self, secret: str, name: str) -> LetInBrowser | None:
        """Exchange the secret of a link; None if there is no such link any more."""
        access = self._links.pop(_digest(secret), None)
        return None if access is None else self.admit(name, access)

    def admit(self, name: str, access: Access) -> LetInBrowser:
        """Let a browser in."""
        cookie, key, now_ms = secrets.token_urlsafe(SECRET_BYTES), secrets.token_urlsafe(SECRET_BYTES), wall_clock_ms()
        device = Device(
            id=secrets.token_hex(4),
            name=single_line(name, MAX_NAME),
            access=access,
            cookie_digest=_digest(cookie),
            key_digest=_digest(key),
            since_ms=now_ms,
            seen_ms=now_ms,
        )
        self._devices[device.id] = device
        while len(self._devices) > MAX_DEVICES:
            del self._devices[min(self._devices.values(), key=lambda each: each.seen_ms).id]
        self._store()
        return LetInBrowser(device=device, cookie=cookie, key=key)

    def known(self, cookie: str, key: str) -> Device | None:
        """The browser with these two secrets."""
        digests = _digest(cookie), _digest(key)
        for device in self._devices.values():
            is_cookie = hmac.compare_digest(device.cookie_digest, digests[0])
            if is_cookie & hmac.compare_digest(device.key_digest, digests[1]):
                return device
        return None

    def access_of(self, device: Device) -> Access:
        """What it may do here: no more than this server allows."""
        return Access.VIEW if self._most is Access.VIEW else device.access

    def listed(self) -> tuple[Device, ...]:
        """All browsers, the newest first."""
        return tuple(sorted(self._devices.values(), key=lambda each: -each.since_ms))

    def is_known(self, device_id: str) -> bool:
        """Whether the browser is let in still."""
        return device_id in self._devices

    def revoke(self, device_id: str) -> bool:
        """Let a browser in no more; false if there is none with this id."""
        if self._devices.pop(device_id, None) is None:
            return False
        self._store()
        return True

    def _store(self) -> None:
        if self._path is not None:
            with transaction(self._path.parent) as files:
                files.write(self._path.name, msgspec.json.encode(tuple(self._devices.values())))


def _stored(path: Path | None) -> tuple[Device, ...]:
    if path is None:
        return ()
    try:
        devices = msgspec.json.decode(read_file(path), type=tuple[Device, ...])
    except (OSError, msgspec.DecodeError):
        return ()  # browsers need a new link, nothing else
    latest = wall_clock_ms() - KEPT_MS
    return tuple(device for device in devices if device.seen_ms > latest)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
