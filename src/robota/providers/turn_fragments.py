"""The encoded turns of a conversation, each encoded once however often it is sent."""

from collections.abc import Callable, Sequence

from robota.protocol.conversation import Turn

# A turn and the one before it, which some formats need to name what a result belongs to.
EncodeTurn = Callable[[Turn, Turn | None], bytes]


class TurnFragments:
    """Turns are immutable, and the same objects come back in the next request, so identity tells them apart."""

    def __init__(self, encode: EncodeTurn) -> None:
        self._encode = encode
        # The turns are held, so that an id cannot pass to another object.
        self._known: dict[int, tuple[Turn, Turn | None, bytes]] = {}

    def of(self, turns: Sequence[Turn]) -> list[bytes]:
        """One fragment a turn; empty where nothing of it is sent. Turns that are gone are forgotten."""
        kept: dict[int, tuple[Turn, Turn | None, bytes]] = {}
        fragments: list[bytes] = []
        previous: Turn | None = None
        for turn in turns:
            entry = self._known.get(id(turn))
            if entry is None or entry[1] is not previous:
                entry = (turn, previous, self._encode(turn, previous))
            kept[id(turn)] = entry
            fragments.append(entry[2])
            previous = turn
        self._known = kept
        return fragments

    def __len__(self) -> int:
        return len(self._known)
