"""Parses an entry of `sandbox.allowedHosts`: a host, all hosts below a name, or an address."""

import re
from ipaddress import ip_address
from typing import Final

import msgspec

USUAL_PORTS: Final = (80, 443)
ENTRY: Final = re.compile(r"(?P<host>\[[^\[\]]*\]|[^\[\]:]+)(?::(?P<port>[0-9]{1,5}))?")
LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
# The last label of a numeric address, including obscure spellings such as 0x7f.1 and 2130706433.
NUMBER: Final = re.compile(r"0x[0-9a-f]*|[0-9]+")
MAX_CHARACTERS: Final = 253
BELOW: Final = "*."
EXAMPLES: Final = "python.org, *.github.com or internal.example.com:8443"


class AllowedName(msgspec.Struct, frozen=True, kw_only=True):
    """A host name in lower case, without a final dot."""

    name: str
    ports: tuple[int, ...]


class NamesBelow(msgspec.Struct, frozen=True, kw_only=True):
    """Every name that ends in a dot and `parent`."""

    parent: str
    ports: tuple[int, ...]


class AllowedAddress(msgspec.Struct, frozen=True, kw_only=True):
    """This numerical address in its usual form, without brackets."""

    address: str
    ports: tuple[int, ...]


AllowedHost = AllowedName | NamesBelow | AllowedAddress


class NoHost(ValueError):
    """The entry names no host. The message is for the user."""


def allowed_host(text: str) -> AllowedHost:
    """Read an entry, or raise `NoHost`."""
    if text in ("*", "*.*"):
        raise NoHost("this matches every host; list the hosts, or set sandbox.network to true instead")
    entry = ENTRY.fullmatch(text.lower())
    if entry is None or not text.isascii():
        raise NoHost(f"a host is required here, without a scheme or a path and in ASCII (xn--…), such as {EXAMPLES}")
    ports = _ports(entry["port"])
    host = entry["host"].removesuffix(".")
    if host.startswith("[") or NUMBER.fullmatch(host.rpartition(".")[2]):
        return AllowedAddress(address=_address(host), ports=ports)
    if host.startswith(BELOW):
        parent = _name(host.removeprefix(BELOW))
        if "." not in parent:
            raise NoHost(f"this matches a whole top-level domain; be more specific, such as {EXAMPLES}")
        return NamesBelow(parent=parent, ports=ports)
    return AllowedName(name=_name(host), ports=ports)


def _ports(text: str | None) -> tuple[int, ...]:
    if text is None:
        return USUAL_PORTS
    if not 0 < int(text) < 65536:
        raise NoHost("a port is a number from 1 to 65535")
    return (int(text),)


def _address(host: str) -> str:
    try:
        address = ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError as error:
        raise NoHost("an address is written as 192.0.2.1:8080 or [2001:db8::1]:8080") from error
    if "%" in host:
        raise NoHost("an address cannot name a network interface here")
    return str(address)


def _name(host: str) -> str:
    if len(host) > MAX_CHARACTERS or not all(LABEL.fullmatch(label) for label in host.split(".")):
        raise NoHost(f"a host is required here; * is allowed only for whole names at the start, such as {EXAMPLES}")
    return host
