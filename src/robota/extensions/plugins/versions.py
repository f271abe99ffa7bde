"""Compares semantic versions (semver.org)."""

import re
from typing import Final

VERSION: Final = re.compile(
    r"v?(0|[1-9]\d{0,17})\.(0|[1-9]\d{0,17})\.(0|[1-9]\d{0,17})(?:-([0-9A-Za-z.-]{1,200}))?(?:\+[0-9A-Za-z.-]{1,200})?",
    re.ASCII,
)

_Identifier = tuple[bool, int, str]
_Key = tuple[int, int, int, bool, tuple[_Identifier, ...]]


def is_older(version: str, other: str) -> bool:
    """Whether a version precedes another; False unless both are semantic versions."""
    one, two = _key(version), _key(other)
    return one is not None and two is not None and one < two


def _key(version: str) -> _Key | None:
    match = VERSION.fullmatch(version.strip())
    if match is None:
        return None
    major, minor, patch, pre = match.groups()
    identifiers = () if pre is None else tuple(map(_identifier, pre.split(".")))
    # A release comes after its pre-releases, whose numeric identifiers come before words.
    return int(major), int(minor), int(patch), pre is None, identifiers


def _identifier(text: str) -> _Identifier:
    return (False, int(text), "") if text.isdecimal() else (True, 0, text)
