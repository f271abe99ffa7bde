"""Which kinds of records there are: each family registers its own, and a room above the log can add more."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, Self, TypeVar

import msgspec

from robota.log.record import Record
from robota.protocol.codec import ProtocolError
from robota.protocol.wire import Value
from robota.text.surrogate_pairs import with_whole_characters


class PayloadError(ValueError):
    """The payload of a registered kind does not have that kind's type."""


class Payload(Value, frozen=True, kw_only=True):
    """The base of everything that can be appended to a log. A subclass is registered with `record_kind`."""

    def to_json(self) -> bytes:
        """The payload as JSON. Half a surrogate pair, which has no UTF-8 form, is replaced, not refused."""
        return encode_json(self)

    @classmethod
    def from_json(cls, data: bytes | msgspec.Raw) -> Self:
        """The payload that was written as `data`; raises an error of msgspec or of the protocol if it is none."""
        return msgspec.json.decode(data, type=cls)


P = TypeVar("P", bound=Payload)

_KIND_OF_TYPE: Final[dict[type[Payload], str]] = {}
_TYPE_OF_KIND: Final[dict[str, type[Payload]]] = {}


def record_kind(name: str) -> Callable[[type[P]], type[P]]:
    """Register the decorated payload type under the kind that its records have in the log.

    A kind becomes known when the module of its type is imported, so who can name the type can read its records.
    """

    def register(payload_type: type[P]) -> type[P]:
        known = _TYPE_OF_KIND.setdefault(name, payload_type)
        if known is not payload_type:
            raise ValueError(f"records of the kind {name!r} are {known.__qualname__}, not {payload_type.__qualname__}")
        _KIND_OF_TYPE[payload_type] = name
        return payload_type

    return register


def registered_kinds() -> Mapping[str, type[Payload]]:
    """The payload type of every kind that is known now."""
    return MappingProxyType(_TYPE_OF_KIND)


def kind_of(payload: Payload) -> str:
    """The kind under which a payload is recorded."""
    return _KIND_OF_TYPE[type(payload)]


def payload_of(record: Record) -> Payload | None:
    """The payload as a value, or None for a kind that nobody registered: its records are kept and ignored."""
    payload_type = _TYPE_OF_KIND.get(record.kind)
    if payload_type is None:
        return None
    try:
        return payload_type.from_json(record.payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ProtocolError) as error:
        raise PayloadError(f"{record.kind}: {error}") from error


def encode_json(value: Any) -> bytes:
    """The JSON of a value, halves of surrogate pairs replaced."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(with_whole_characters(msgspec.to_builtins(value)))
