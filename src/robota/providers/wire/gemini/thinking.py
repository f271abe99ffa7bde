"""Thought signatures of Gemini: each belongs to one part of a reply and must be sent back with that part.

A signature is kept in a `ThinkingBlock` next to its part: `next` signs the call that follows, `last` the end of the
text before (its last `length` characters), `own` the thought itself.
"""

from typing import Final

import msgspec

from robota.protocol.conversation import ThinkingBlock
from robota.providers.wire.opaque_signatures import opened, seal

OWNER: Final = "gemini"
# Gemini 3 refuses a call without a signature, but accepts this one for calls made by another model.
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
    """The signature kept in a block; nothing if another server wrote it."""
    try:
        return msgspec.convert(opened(OWNER, block.signature) or {}, Signatures)
    except msgspec.ValidationError:
        return Signatures()
