"""Thinking of the Messages API: gathered from a reply, kept in one block, sent back as it came.

One stretch of reasoning is one `ThinkingBlock`, but the server may have sent it as several blocks, some of them
redacted, each with a signature over exactly its own text. A single signature is kept unchanged; several are sealed
together with the length of the text that belongs to each.
"""

from typing import Any, Final

import msgspec

from robota.protocol.conversation import ThinkingBlock
from robota.providers.wire.opaque_signatures import is_sealed, opened, seal

OWNER: Final = "anthropic"


class Thought(msgspec.Struct, frozen=True, array_like=True, tag="thinking"):
    """The next `length` characters of the text."""

    length: int
    signature: str


class Redacted(msgspec.Struct, frozen=True, array_like=True, tag="redacted"):
    """Reasoning that only the server can read."""

    data: str


ThinkingPiece = Thought | Redacted


def sealed(pieces: list[ThinkingPiece]) -> str:
    """The signature for a stretch made of these pieces."""
    if len(pieces) == 1 and isinstance(pieces[0], Thought):
        return pieces[0].signature
    return seal(OWNER, pieces)


def thought_blocks(block: ThinkingBlock) -> list[dict[str, Any]]:
    """The blocks to send back. What the server did not sign, or another server did, it would refuse."""
    if not block.signature:
        return []
    if not is_sealed(block.signature):
        return [{"type": "thinking", "thinking": block.thinking, "signature": block.signature}]
    blocks: list[dict[str, Any]] = []
    start = 0
    for piece in _pieces(block.signature):
        if isinstance(piece, Redacted):
            blocks.append({"type": "redacted_thinking", "data": piece.data})
        else:
            text = block.thinking[start : start + piece.length]
            blocks.append({"type": "thinking", "thinking": text, "signature": piece.signature})
            start += piece.length
    return blocks if start == len(block.thinking) else []


def _pieces(signature: str) -> list[ThinkingPiece]:
    try:
        return msgspec.convert(opened(OWNER, signature) or [], list[ThinkingPiece])
    except msgspec.ValidationError:
        return []
