"""Reasoning of the Responses API: encrypted by the server, kept in the block that shows its summary, sent back.

One stretch of reasoning is one `ThinkingBlock`, however many items the server made of it. Only what the server needs
to decrypt an item is kept: the summary is for the user, and the model does not need it.
"""

from typing import Any, Final

import msgspec

from robota.protocol.conversation import ThinkingBlock
from robota.providers.wire.opaque_signatures import opened, seal

OWNER: Final = "openai"


class ReasoningItem(msgspec.Struct, frozen=True, array_like=True):
    """A reasoning item of a reply, to be sent back as it came."""

    id: str
    encrypted_content: str


def sealed(items: list[ReasoningItem]) -> str:
    """The signature for a stretch made of these items; there may be none."""
    return seal(OWNER, items)


def reasoning_items(block: ThinkingBlock) -> list[dict[str, Any]]:
    """The items to send back; nothing of a block that another server wrote."""
    try:
        items = msgspec.convert(opened(OWNER, block.signature) or [], list[ReasoningItem])
    except msgspec.ValidationError:
        return []
    return [
        {"type": "reasoning", "id": item.id, "summary": [], "encrypted_content": item.encrypted_content}
        for item in items
    ]
