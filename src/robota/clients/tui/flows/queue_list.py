"""The queue as a list: each entry can be edited, removed, or sent with the next request."""

from enum import Enum, auto

import msgspec
from msgspec.structs import replace

from robota.clients.tui.flows.selection import Selection
from robota.protocol.message import QueuedMessage


class QueueAct(Enum):
    """What the user does with an entry of the queue."""

    EDIT = auto()
    REMOVE = auto()
    SEND_NOW = auto()


class QueueList(msgspec.Struct, frozen=True, kw_only=True):
    """The open list, the oldest words first."""

    entries: tuple[QueuedMessage, ...]
    rows: Selection


class QueueChange(msgspec.Struct, frozen=True):
    """An action and the entry it applies to."""

    act: QueueAct
    entry: QueuedMessage


class QueueLeft(msgspec.Struct, frozen=True):
    """The list is closed; `typed` is what the key would have written."""

    typed: str = ""


KEYS = {"enter": QueueAct.EDIT, "backspace": QueueAct.REMOVE, "delete": QueueAct.REMOVE, "ctrl-s": QueueAct.SEND_NOW}


def queue_list(entries: tuple[QueuedMessage, ...]) -> QueueList:
    """The list with its newest words chosen."""
    return QueueList(entries=entries, rows=Selection(count=len(entries), index=len(entries) - 1, wraps=False))


def with_entries(shown: QueueList, entries: tuple[QueuedMessage, ...]) -> QueueList | None:
    """The list after the queue has changed, the same words chosen if they still wait; None if nothing does."""
    if not entries:
        return None
    index = shown.rows.index or 0
    chosen = shown.entries[index].id
    row = next((number for number, entry in enumerate(entries) if entry.id == chosen), min(index, len(entries) - 1))
    return replace(shown, entries=entries, rows=replace(shown.rows, count=len(entries), index=row))


def press_in_queue(shown: QueueList, key: str) -> QueueList | QueueChange | QueueLeft:
    """The list after a key, or the action of the key. Other typed text goes to the input."""
    index = shown.rows.index or 0
    match key:
        case "up":
            return replace(shown, rows=shown.rows.moved(-1))
        case "down" if index + 1 < len(shown.entries):
            return replace(shown, rows=shown.rows.moved(1))
        case "down" | "escape":
            return QueueLeft()
        case _ if key in KEYS:
            return QueueChange(KEYS[key], shown.entries[index])
        case "space":
            return QueueLeft(" ")
        case _ if len(key) == 1 and key.isprintable():
            return QueueLeft(key)
        case _:
            return shown
