"""The common base of everything that crosses the wire."""

from typing import Any

import msgspec


class Value(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """An immutable value with camelCase JSON; fields at their default are left out."""


class OpenValue(Value, frozen=True, kw_only=True):
    """A value that keeps fields it does not know, so that a newer peer loses nothing by passing through us.

    `codec` fills `extra` on decoding and spreads it out again on encoding.
    """

    extra: dict[str, Any] = msgspec.field(default_factory=dict, name="~extra")
