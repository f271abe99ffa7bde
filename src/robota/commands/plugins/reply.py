"""What a request about plugins gives back."""

from collections.abc import Sequence
from typing import Any

import msgspec

from robota.config.errors import ConfigError


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """What would be installed: all of it as text, and the digest that stands for exactly that."""

    text: str
    digest: str


class PluginReply(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a request: words for a person, data for a script. `waits_for` is what they have not agreed to.

    `is_done` is false if a part of what was asked could not be done; the text says which.
    """

    text: str
    data: Any = None
    waits_for: tuple[Proposal, ...] = ()
    is_done: bool = True


def joined(replies: Sequence[PluginReply], nothing: str) -> PluginReply:
    """Several answers as one; `nothing` is the text if there are none."""
    return PluginReply(
        text="\n".join(each.text for each in replies) or nothing,
        data=[each.data for each in replies],
        waits_for=tuple(proposal for each in replies for proposal in each.waits_for),
        is_done=all(each.is_done for each in replies),
    )


def refusal(error: Exception) -> str:
    """A sentence for the person about why nothing was done."""
    text = str(error)
    if isinstance(error, ConfigError):
        return text
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}. Nothing was changed."
