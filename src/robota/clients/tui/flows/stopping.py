"""What Esc, Ctrl+C and Ctrl+D mean: it depends on what is there to be stopped, cleared or left."""

from enum import Enum, auto

import msgspec


class Stopping(Enum):
    """What such a key does."""

    NOTHING = auto()
    CLOSE_POPUP = auto()
    STOP_TURN = auto()
    OFFER_REWIND = auto()  # a second Esc goes back in the conversation
    REWIND = auto()
    CLEAR_INPUT = auto()
    OFFER_LEAVING = auto()  # a second Ctrl+C leaves
    LEAVE = auto()


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """What is there when the key is pressed. `offered` is what the key before this one offered."""

    has_popup: bool = False
    has_text: bool = False
    is_working: bool = False
    offered: Stopping = Stopping.NOTHING


def on_escape(now: Situation) -> Stopping:
    """Esc closes what is open, then stops what runs; at rest, pressed twice, it goes back."""
    if now.has_popup:
        return Stopping.CLOSE_POPUP
    if now.is_working:
        return Stopping.STOP_TURN
    if now.has_text:
        return Stopping.CLEAR_INPUT if now.offered is Stopping.OFFER_REWIND else Stopping.OFFER_REWIND
    return Stopping.REWIND if now.offered is Stopping.OFFER_REWIND else Stopping.OFFER_REWIND


def on_interrupt(now: Situation) -> Stopping:
    """Ctrl+C clears the line, then stops what runs and asks, then leaves."""
    if now.has_text:
        return Stopping.CLEAR_INPUT
    if now.offered is Stopping.OFFER_LEAVING:
        return Stopping.LEAVE
    return Stopping.STOP_TURN if now.is_working else Stopping.OFFER_LEAVING


def on_end_of_input(now: Situation) -> Stopping:
    """Ctrl+D leaves where nothing is written; elsewhere it erases a letter, as in a shell."""
    return Stopping.NOTHING if now.has_text else Stopping.LEAVE
