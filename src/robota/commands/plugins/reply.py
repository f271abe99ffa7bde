"""What an order about plugins gives back."""

from typing import Any

import msgspec


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """What would be installed: all of it as text, and the digest that stands for exactly that."""

    text: str
    digest: str


class PluginReply(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to an order: words for a person, data for a script. `waits_for` is what they have not agreed to."""

    text: str
    data: Any = None
    waits_for: tuple[Proposal, ...] = ()
