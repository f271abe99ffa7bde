"""The meaning of Esc, Ctrl+C and Ctrl+D, which depends on what can be cancelled, cleared or closed."""

from enum import Enum, auto

import msgspec


class Stopping(Enum):
    """The effect of such a key."""

    NOTHING = auto()
    CLOSE_POPUP = auto()
    CLOSE_DIALOG = auto()  # a list or a yes/no question, which is a no
    STOP_TURN = auto()
    OFFER_CLEARING = auto()  # a second Esc clears the input
    CLEAR_INPUT = auto()  # its text goes into the history of prompts
    OFFER_REWIND = auto()  # a second Esc goes back in the conversation
    REWIND = auto()
    OFFER_LEAVING = auto()  # a second Ctrl+C leaves
    LEAVE = auto()


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """The situation when the key is pressed. `offered` is the offer of the previous key, as long as it is shown."""

    has_popup: bool = False
    has_dialog: bool = False
    has_text: bool = False
    is_working: bool = False
    has_vi_keys: bool = False
    offered: Stopping = Stopping.NOTHING


def on_escape(now: Situation) -> Stopping:
    """Esc closes what is open, then stops what is running; at rest, pressed twice, it clears the input or goes back.

    Vi users press Esc out of habit, so that it never touches what they have written.
    """
    if now.has_popup:
        return Stopping.CLOSE_POPUP
    if now.is_working:
        return Stopping.STOP_TURN
    if now.has_text and now.has_vi_keys:
        return Stopping.NOTHING
    if now.has_text:
        return Stopping.CLEAR_INPUT if now.offered is Stopping.OFFER_CLEARING else Stopping.OFFER_CLEARING
    return Stopping.REWIND if now.offered is Stopping.OFFER_REWIND else Stopping.OFFER_REWIND


def on_interrupt(now: Situation) -> Stopping:
    """Ctrl+C closes a list or question, clears the input, then stops what is running; else, pressed twice, it exits."""
    if now.has_dialog:
        return Stopping.CLOSE_DIALOG
    if now.has_text:
        return Stopping.CLEAR_INPUT
    if now.offered is Stopping.OFFER_LEAVING:
        return Stopping.LEAVE
    return Stopping.STOP_TURN if now.is_working else Stopping.OFFER_LEAVING


def on_end_of_input(now: Situation) -> Stopping:
    """Ctrl+D exits if the input is empty; otherwise it deletes a character, as in a shell."""
    return Stopping.NOTHING if now.has_text else Stopping.LEAVE
