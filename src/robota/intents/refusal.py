"""The refusal of a call by the intent layer, as JSON for the model with the codes of the reference design."""

from enum import StrEnum
from typing import Any

import msgspec

from robota.contracts.hook import BlockCall


class RefusalKind(StrEnum):
    """Why a call is refused. `code` is the number that other tools know it by."""

    SCOPE_VIOLATION = "scope_violation"
    UNKNOWN_TARGETS = "unknown_targets"
    INTENT_MISMATCH = "intent_mismatch"
    INVALID_METADATA = "invalid_metadata"
    STALE_FILE = "stale_file"
    MISSING_INTENT = "missing_intent"
    INVALID_INTENT = "invalid_intent"
    SCOPE_HELD = "scope_held"

    @property
    def code(self) -> str:
        return CODES[self]


CODES = {
    RefusalKind.SCOPE_VIOLATION: "REQ-001",
    RefusalKind.UNKNOWN_TARGETS: "REQ-002",
    RefusalKind.INTENT_MISMATCH: "REQ-004",
    RefusalKind.INVALID_METADATA: "REQ-005",
    RefusalKind.STALE_FILE: "REQ-007",
    RefusalKind.MISSING_INTENT: "HOOK-INT-001",
    RefusalKind.INVALID_INTENT: "HOOK-INT-002",
    RefusalKind.SCOPE_HELD: "LEASE-001",
}


def refusal(kind: RefusalKind, message: str, intent_id: str | None, **more: Any) -> str:
    """The object as JSON, with the fields that are given."""
    fields = {"error_type": kind, "code": kind.code, "intent_id": intent_id, "message": message, **more}
    return msgspec.json.encode({"status": "denied", **fields}).decode()


def blocked(refusal_text: str) -> BlockCall:
    """Stop the call with this refusal: the model gets the whole object, the user its message."""
    return BlockCall(reason=message_of(refusal_text), told=refusal_text)


def message_of(refusal_text: str) -> str:
    """The message of such an object, for the user."""
    message: str = msgspec.json.decode(refusal_text)["message"]
    return message
