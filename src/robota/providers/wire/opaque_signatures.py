"""Data to send back to a provider unchanged, kept in `ThinkingBlock.signature` with the name of its owner.

Another provider may continue the conversation, or the same one after a restart. So a seal is plain text, is logged with
its block, and is never sent to a provider that did not write it.
"""

from typing import Any

import msgspec


def seal(owner: str, content: Any) -> str:
    """`owner` must not contain a colon."""
    return f"{owner}:{msgspec.json.encode(content).decode()}"


def opened(owner: str, signature: str | None) -> Any:
    """What `owner` sealed, or None if this is not its seal."""
    name, _, content = (signature or "").partition(":")
    if name != owner:
        return None
    try:
        return msgspec.json.decode(content)
    except msgspec.DecodeError:
        return None


def is_sealed(signature: str) -> bool:
    """Whether it names an owner. Signatures written by a server are base64 and have no colon."""
    return ":" in signature
