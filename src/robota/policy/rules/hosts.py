"""Host names and addresses: matching them against rules, and refusing those that are never fetched from."""

import fnmatch
import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?")
LOCAL_NAMES: Final = frozenset({"localhost", "localhost.localdomain", "ip6-localhost", "metadata.google.internal"})
# Numbers that an address parser reads as an IPv4 address: 0, 2130706433, 0x7f.1, 017700000001.
NUMERIC: Final = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)(?:\.(?:0x[0-9a-f]*|[0-9]+))*")


def host_matches(host: str, pattern: str) -> bool:
    """Match label by label, ignoring case. `*.example.com` matches any subdomain; other `*` stay within a label."""
    labels, pattern_labels = _labels(host), _pattern_labels(pattern)
    if labels is None or pattern_labels is None:
        return False
    if pattern_labels[0] == "*" and len(pattern_labels) > 1:
        pattern_labels = pattern_labels[1:]
        labels = labels[1:][-len(pattern_labels) :] if len(labels) > len(pattern_labels) else []
    return len(labels) == len(pattern_labels) and all(map(_label_matches, labels, pattern_labels))


def problem_with_host(host: str) -> str | None:
    """Why this host is never allowed, or None. Names that resolve to a forbidden address are caught on connection."""
    bare = host.removeprefix("[").removesuffix("]").rstrip(".").lower()
    if bare in LOCAL_NAMES or bare.endswith((".localhost", ".internal", ".local")):
        return "it is a local or internal host name"
    try:
        address = ip_address(bare.partition("%")[0])
    except ValueError:
        if NUMERIC.fullmatch(bare):
            return "it is an IP address written as a single number"
        return None if _labels(host) is not None else "it is not a plain host name"
    return None if _is_public(address) else "it is a local or internal address"


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether an address is public. IPv6 addresses that embed an IPv4 address are checked by it, or refused."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return _is_public(address.ipv4_mapped)
        if address.sixtofour or address.teredo or address.is_reserved or address.is_site_local:
            return False
    return address.is_global and not address.is_multicast


def _labels(host: str) -> list[str] | None:
    """The lower-case labels of a host name; None if it has a user, a port, control bytes or look-alike characters."""
    labels = host.removesuffix(".").lower().split(".")
    if not host.isascii() or len(host) > 253 or not all(LABEL.fullmatch(label) for label in labels):
        return None
    return labels


def _pattern_labels(pattern: str) -> list[str] | None:
    labels = pattern.strip().removesuffix(".").lower().split(".")
    return labels if pattern.isascii() and all(labels) else None


def _label_matches(label: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(label, pattern.replace("[", "[[]"))
