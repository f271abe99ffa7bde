"""Thought signatures of Gemini: each belongs to one part of a reply and must come back on that very part.

A signature is kept in a `ThinkingBlock` beside the part it belongs to: `next` is that of the call which follows,
`last` that of the end of the text before (its last `length` characters), `own` that of the thought itself.
"""

from typing import Final

import msgspec

from robota.protocol.conversation import ThinkingBlock
from robota.providers.wire.opaque_signatures import opened, seal

OWNER: Final = "gemini"
# Gemini 3 refuses a call without a signature; this one it takes for calls that another model made.
NOT_SIGNED: Final = "skip_thought_signature_validator"


class Signatures(msgspec.Struct, frozen=True, omit_defaults=True):
    """The signatures of a reply, each with the part that it belongs to."""

    next: str = ""
    last: str = ""
    length: int = 0
    own: str = ""


def sealed(signatures: Signatures) -> str:
    """The signatures as text for `ThinkingBlock.signature`."""
    return seal(OWNER, signatures)


def signatures_of(block: ThinkingBlock) -> Signatures:
    """What is kept in a block; nothing if another server wrote it."""
    try:
        return msgspec.convert(opened(OWNER, block.signature) or {}, Signatures)
    except msgspec.ValidationError:
        return Signatures()
