"""Parse URLs and check which machines may be contacted.

A model can be tricked into fetching anything. Everything that is not reachable from the public internet is refused:
this machine, its network, and cloud metadata services, which give credentials to any process inside.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final
from urllib.parse import SplitResult, urlsplit

import msgspec

MAX_URL_CHARACTERS: Final = 4096
MAX_HOST_CHARACTERS: Final = 253
PORTS: Final = {"http": 80, "https": 443}
NUMBER: Final = re.compile(r"0x[0-9a-f]*|[0-9]+")
NAME: Final = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_]([a-z0-9_-]{0,62}))*")

# Addresses in public ranges that are served by the cloud the machine runs in (Azure, Oracle).
CLOUD_SERVICES: Final = frozenset({ip_address("168.63.129.16"), ip_address("192.0.0.192")})
TRANSLATED: Final = ip_network("64:ff9b::/96")
TRANSLATED_LOCALLY: Final = ip_network("64:ff9b:1::/48")

Address = IPv4Address | IPv6Address


class AddressRefused(Exception):
    """The URL must not be fetched. Nothing was sent. The message is for the model."""


class WebAddress(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed URL. `host` is normalized: lower case, ASCII, without brackets."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def is_numerical(self) -> bool:
        """Whether the host is an IP address rather than a name."""
        return ":" in self.host or NUMBER.fullmatch(self.host.rpartition(".")[2]) is not None

    @property
    def authority(self) -> str:
        """Host and port as in a URL."""
        return self.authority_of(self.host, with_port=self.port != PORTS[self.scheme])

    @property
    def url(self) -> str:
        """The whole URL."""
        return f"{self.scheme}://{self.authority}{self.target}"

    def url_at(self, address: str) -> str:
        """The URL with this numerical address as its host."""
        return f"{self.scheme}://{self.authority_of(address, with_port=True)}{self.target}"

    def authority_of(self, host: str, *, with_port: bool) -> str:
        """The given host with the port of this address."""
        name = f"[{host}]" if ":" in host else host
        return f"{name}:{self.port}" if with_port else name


class AddressRules(msgspec.Struct, frozen=True, kw_only=True):
    """Which machines may be contacted. `exempt` are private networks, such as `10.1.0.0/16`, that are allowed."""

    exempt: tuple[str, ...] = ()

    def refusal(self, text: str) -> str | None:
        """Why a numerical address must not be contacted; None if it may."""
        address = ip_address(text)
        if any(address in ip_network(network) for network in self.exempt):
            return None
        kinds = (_special_kind(each) for each in _addresses_meant(address))
        return next((kind for kind in kinds if kind is not None), None)


def parse_address(url: str) -> WebAddress:
    """Parse a URL, or raise `AddressRefused`. Suspicious forms are refused, not interpreted."""
    text = url.strip()
    if len(text) > MAX_URL_CHARACTERS or not text.isprintable() or set(text) & set(" \\"):
        raise _refused(url, f"it must have at most {MAX_URL_CHARACTERS} characters and no blanks or backslashes")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise _refused(url, str(error)) from error
    if parts.scheme not in PORTS:
        raise _refused(url, "only http:// and https:// can be fetched")
    if "@" in parts.netloc:
        raise _refused(url, "it contains a user name, which can make a host look like another one")
    if port == 0:
        raise _refused(url, "there is no port 0")
    host = _host(parts, url)
    query = f"?{parts.query}" if parts.query else ""
    return WebAddress(
        scheme=parts.scheme, host=host, port=port or PORTS[parts.scheme], target=f"{parts.path or '/'}{query}"
    )


def _host(parts: SplitResult, url: str) -> str:
    given = (parts.hostname or "").removesuffix(".")
    if ":" in given:
        return _numerical(given, url)
    try:
        host = given if given.isascii() else given.encode("idna").decode("ascii").lower()
    except UnicodeError as error:
        raise _refused(url, f"{given!r} is not a host name") from error
    # 2130706433, 0x7f.1 and 0177.0.0.1 are disguised spellings of 127.0.0.1.
    if NUMBER.fullmatch(host.rpartition(".")[2]):
        return _numerical(host, url)
    if len(host) > MAX_HOST_CHARACTERS or not NAME.fullmatch(host):
        raise _refused(url, f"{given!r} is not a host name")
    return host


def _numerical(host: str, url: str) -> str:
    try:
        address = ip_address(host)
    except ValueError as error:
        raise _refused(
            url, f"{host!r} is not an address in the usual form, such as 192.0.2.1 or [2001:db8::1]"
        ) from error
    if "%" in host:
        raise _refused(url, "it names a network interface of this machine")
    return str(address)


def _addresses_meant(address: Address) -> list[Address]:
    """The address itself, and the IPv4 addresses that an IPv6 address embeds."""
    if isinstance(address, IPv4Address):
        return [address]
    last_bits = IPv4Address(int(address) & 0xFFFF_FFFF)
    if address in TRANSLATED:
        return [last_bits]
    inside = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    return [address, *(each for each in inside if each is not None)]


def _special_kind(address: Address) -> str | None:
    if address in CLOUD_SERVICES or address.is_link_local:
        return "a link-local or metadata address"
    if address.is_loopback or address.is_unspecified:
        return "this machine itself"
    if address.is_multicast:
        return "a multicast address"
    is_local = address in TRANSLATED_LOCALLY or (isinstance(address, IPv6Address) and address.is_site_local)
    if is_local or address.is_private or address.is_reserved or not address.is_global:
        return "a private or reserved address"
    return None


def _refused(url: str, problem: str) -> AddressRefused:
    shown = ascii(url if len(url) <= 200 else url[:200] + "…")
    return AddressRefused(f"{shown} cannot be fetched: {problem}. Nothing was sent.")


Resolve = Callable[[str, int], Awaitable[Sequence[str]]]


async def resolve_name(host: str, port: int) -> Sequence[str]:
    """Resolve a host to numerical addresses with the system's resolver."""
    infos = await asyncio.get_running_loop().getaddrinfo(host, port)
    return list(dict.fromkeys(str(entry[4][0]) for entry in infos))
