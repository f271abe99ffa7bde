"""The reply to a request about plugins."""

from collections.abc import Sequence
from typing import Any

import msgspec

from robota.config.errors import ConfigError


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin that waits for agreement: its description, and the digest of exactly that content."""

    text: str
    digest: str


class PluginReply(msgspec.Struct, frozen=True, kw_only=True):
    """The reply to a request: text for the user, data for scripts.

    `waits_for` are proposals that the user has not agreed to. `is_done` is false if a part failed; the text says which.
    """

    text: str
    data: Any = None
    waits_for: tuple[Proposal, ...] = ()
    is_done: bool = True


def joined(replies: Sequence[PluginReply], nothing: str) -> PluginReply:
    """Several replies as one; `nothing` is the text if there are none."""
    return PluginReply(
        text="\n".join(each.text for each in replies) or nothing,
        data=[each.data for each in replies],
        waits_for=tuple(proposal for each in replies for proposal in each.waits_for),
        is_done=all(each.is_done for each in replies),
    )


def refusal(error: Exception) -> str:
    """The message for the user about an error that changed nothing."""
    text = str(error)
    if isinstance(error, ConfigError):
        return text
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}. Nothing was changed."
