"""What a provider wants back untouched, kept in `ThinkingBlock.signature` under the name of who can read it.

A reply may have to be carried on by another provider, or by the same one after a restart. So a seal is plain text,
lives in the log with its block, and is never shown to a provider that did not write it.
"""

from typing import Any

import msgspec


def seal(owner: str, content: Any) -> str:
    """`owner` must not hold a colon."""
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
    """Whether somebody's name is on it. Signatures that a server wrote are base64 and have no colon."""
    return ":" in signature
