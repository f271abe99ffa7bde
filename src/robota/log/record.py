"""A log record: a line of JSON, sealed by its own hash and linked to the previous record, and its payload.

Each family of payloads registers its kinds here, and packages above the log can add more.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from hashlib import sha256
from types import MappingProxyType
from typing import ClassVar, Final, Self, TypeVar

import msgspec

from robota.protocol.codec import ProtocolError, encode
from robota.protocol.wire import Value
from robota.text.visible import with_whole_characters

FIRST_PREV: Final = ""
HASH_LENGTH: Final = 64
HASH_FIELD: Final = b',"hash":"'
SEAL_LENGTH: Final = len(HASH_FIELD) + HASH_LENGTH + len(b'"}')


class Record(msgspec.Struct, frozen=True, gc=False):
    """`payload` is kept as JSON, to be decoded by its kind. Fields of a newer version are ignored."""

    seq: int
    ts: int
    kind: str
    payload: msgspec.Raw
    prev: str
    hash: str


# Created once: a long log has hundreds of thousands of lines.
_RECORDS: Final = msgspec.json.Decoder(Record)


class RecordFlaw(StrEnum):
    """The flaw of a line."""

    BAD_JSON = "bad JSON"
    BAD_HASH = "bad hash"
    WRONG_PREV = "wrong prev"
    WRONG_SEQ = "wrong seq"
    TORN_TAIL = "torn tail"
    REWRITTEN = "rewritten"
    CUT_OFF = "cut off"


def seal(seq: int, ts: int, kind: str, payload: bytes, prev: str) -> tuple[bytes, str]:
    """The line of a record, newline included, and its hash."""
    body = b'{"seq":%d,"ts":%d,"kind":"%s","payload":%s,"prev":"%s"}' % (
        seq,
        ts,
        kind.encode(),
        payload,
        prev.encode(),
    )
    digest = sha256(body).hexdigest()
    return b'%s%s%s"}\n' % (body[:-1], HASH_FIELD, digest.encode()), digest


def unseal(line: bytes) -> Record | RecordFlaw:
    """Parse a line (without its newline) into a record, if the line is exactly what was written."""
    try:
        record = _RECORDS.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return RecordFlaw.BAD_JSON
    body = line[:-SEAL_LENGTH] + b"}"
    digest = sha256(body).hexdigest()
    # Comparing the whole seal, not only the parsed hash, catches a change between the fields as well.
    if line[-SEAL_LENGTH:] != b'%s%s"}' % (HASH_FIELD, digest.encode()):
        return RecordFlaw.BAD_HASH
    return record


def link_flaw(record: Record, prev: str, seq: int) -> RecordFlaw | None:
    """Check that a valid record follows the one with hash `prev` and number `seq`."""
    if record.prev != prev:
        return RecordFlaw.WRONG_PREV
    if record.seq != seq + 1:
        return RecordFlaw.WRONG_SEQ
    return None


class Payload(Value, frozen=True, kw_only=True):
    """The base of everything that can be appended to a log. A subclass is registered with `record_kind`.

    `holds_open_values`: its own fields contain fields of newer versions, which are written unchanged.
    `outlives_rewind`: the record still applies after a rewind to before it.
    `newest_applies`: the newest record of this kind is part of the state of the session, or of its task if it is a
    `TaskPayload`, and is known after resuming without further code.
    """

    holds_open_values: ClassVar[bool] = False
    outlives_rewind: ClassVar[bool] = False
    newest_applies: ClassVar[bool] = False

    def to_json(self) -> bytes:
        """The payload as JSON. Lone surrogates, which UTF-8 cannot encode, are replaced."""
        to_bytes = encode if self.holds_open_values else msgspec.json.encode
        try:
            return to_bytes(self)
        except UnicodeEncodeError:
            return to_bytes(with_whole_characters(msgspec.to_builtins(self)))

    @classmethod
    def from_json(cls, data: bytes | msgspec.Raw) -> Self:
        """Decode a payload; raises an error of msgspec or of the protocol if `data` is not one."""
        return msgspec.json.decode(data, type=cls)


class TaskPayload(Payload, frozen=True, kw_only=True):
    """The base of payloads that change the state of one task."""

    task_id: str


P = TypeVar("P", bound=Payload)

_KIND_OF_TYPE: Final[dict[type[Payload], str]] = {}
_TYPE_OF_KIND: Final[dict[str, type[Payload]]] = {}


def record_kind(name: str) -> Callable[[type[P]], type[P]]:
    """Register the decorated payload type under the kind that its records have in the log.

    Importing the module of a type makes its kind known, so code that uses the type can always read its records.
    """

    def register(payload_type: type[P]) -> type[P]:
        owner = _TYPE_OF_KIND.setdefault(name, payload_type)
        if owner is not payload_type:
            raise ValueError(f"records of the kind {name!r} are {owner.__qualname__}, not {payload_type.__qualname__}")
        _KIND_OF_TYPE[payload_type] = name
        return payload_type

    return register


def registered_kinds() -> Mapping[str, type[Payload]]:
    """The payload type of every kind that is registered now."""
    return MappingProxyType(_TYPE_OF_KIND)


def kind_of(payload: Payload | type[Payload]) -> str:
    """The kind under which payloads of this type are recorded."""
    return _KIND_OF_TYPE[payload if isinstance(payload, type) else type(payload)]


def payload_type_of(kind: str) -> type[Payload] | None:
    """The payload type of a kind; None if it is not registered."""
    return _TYPE_OF_KIND.get(kind)


def outlives_rewind(kind: str) -> bool:
    """Whether records of this kind apply on every branch of a conversation; those of unregistered kinds do."""
    payload_type = _TYPE_OF_KIND.get(kind)
    return payload_type is None or payload_type.outlives_rewind


def payload_of(record: Record) -> Payload | None:
    """The decoded payload. None if its kind is unregistered or it is unreadable: such records are kept and ignored."""
    payload_type = _TYPE_OF_KIND.get(record.kind)
    return None if payload_type is None else payload_as(payload_type, record)


def payload_as(payload_type: type[P], record: Record) -> P | None:
    """The payload, decoded as this type; None if it is unreadable."""
    try:
        return payload_type.from_json(record.payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ProtocolError):
        return None
