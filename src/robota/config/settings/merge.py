"""Merges the layers and keeps the origin of each setting."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from robota.config.settings.key_path import KeyPath
from robota.config.settings.layers import LayerValues, Origin

# Rules and hooks of all layers are joined: a layer can add to them but not remove any.
GATHERED: Final = frozenset(
    {("permissions", "allow"), ("permissions", "ask"), ("permissions", "deny"), ("disabledMcpjsonServers",)}
)
GATHERED_MAPS: Final = frozenset({"hooks"})

# Of limits, the smallest of all layers applies: a layer can narrow them but not widen any.
NARROWED: Final = "budgets"

# A later layer replaces a whole entry: a mix of two profiles could send a key to the wrong server.
WHOLE_ENTRIES: Final = frozenset({"providers", "mcpServers", "models", "extraKnownMarketplaces"})


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One effective setting. A joined list has an entry for each layer that adds to it."""

    key: KeyPath
    value: Any
    origin: Origin


def merged(layers: Iterable[LayerValues]) -> tuple[Entry, ...]:
    """The effective settings of the layers, lowest first."""
    entries: list[Entry] = []
    for layer in layers:
        for key, value in _leaves(layer.values):
            if _is_wider(key, value, entries):
                continue
            if not is_gathered(key):
                entries = [entry for entry in entries if not _overlap(entry.key, key)]
            entries.append(Entry(key=key, value=value, origin=layer.origin))
    return tuple(entries)


def _is_wider(key: KeyPath, value: Any, entries: Sequence[Entry]) -> bool:
    """Whether a lower layer sets a smaller limit already. What is no number replaces it, so that it is reported."""
    if key[0] != NARROWED:
        return False
    set_before = (entry.value for entry in entries if entry.key == key)
    return any(isinstance(each, int | float) and isinstance(value, int | float) and each < value for each in set_before)


def nested(entries: Sequence[Entry]) -> dict[str, Any]:
    """The entries as one object, with lists joined."""
    whole: dict[str, Any] = {}
    for entry in entries:
        node = whole
        for part in entry.key[:-1]:
            node = node.setdefault(part, {})
        last = entry.key[-1]
        node[last] = [*node.get(last, ()), *entry.value] if is_gathered(entry.key) else entry.value
    return whole


def is_gathered(key: KeyPath) -> bool:
    """Whether lists of this setting are joined across layers instead of replaced."""
    return key in GATHERED or (len(key) == 2 and key[0] in GATHERED_MAPS)


def _leaves(values: Mapping[str, Any], above: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    for name, value in values.items():
        key = (*above, name)
        if value is None or key == ("$schema",):
            continue
        whole = len(key) == 2 and key[0] in WHOLE_ENTRIES
        if isinstance(value, dict) and not whole:
            yield from _leaves(value, key)
        else:
            yield key, value


def _overlap(one: KeyPath, other: KeyPath) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]
