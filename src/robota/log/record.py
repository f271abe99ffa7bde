"""One record of the log: a line of JSON, sealed by its own hash and tied to the record before it."""

from enum import StrEnum
from hashlib import sha256
from typing import Final

import msgspec

FIRST_PREV: Final = ""
HASH_LENGTH: Final = 64
HASH_FIELD: Final = b',"hash":"'
SEAL_LENGTH: Final = len(HASH_FIELD) + HASH_LENGTH + len(b'"}')


class Record(msgspec.Struct, frozen=True):
    """`payload` is left as JSON: who reads it knows its kind. Fields of a newer version are ignored."""

    seq: int
    ts: int
    kind: str
    payload: msgspec.Raw
    prev: str
    hash: str


class RecordFlaw(StrEnum):
    """What is wrong with a line."""

    BAD_JSON = "bad JSON"
    BAD_HASH = "bad hash"
    WRONG_PREV = "wrong prev"
    WRONG_SEQ = "wrong seq"
    TORN_TAIL = "torn tail"


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
    """The record on a line (without its newline), if the line is exactly what was written."""
    try:
        record = msgspec.json.decode(line, type=Record)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return RecordFlaw.BAD_JSON
    body = line[:-SEAL_LENGTH] + b"}"
    digest = sha256(body).hexdigest()
    # Comparing the whole seal, not only the parsed hash, catches a change between the fields as well.
    if line[-SEAL_LENGTH:] != b'%s%s"}' % (HASH_FIELD, digest.encode()):
        return RecordFlaw.BAD_HASH
    return record


def link_flaw(record: Record, prev: str, seq: int) -> RecordFlaw | None:
    """Whether a sound record follows the one with hash `prev` and number `seq`."""
    if record.prev != prev:
        return RecordFlaw.WRONG_PREV
    if record.seq != seq + 1:
        return RecordFlaw.WRONG_SEQ
    return None
