"""Bind prompt_toolkit's keys to the key table; what the table leaves alone is edited by prompt_toolkit."""

from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec
from prompt_toolkit.application import get_app
from prompt_toolkit.filters import Condition, Filter, vi_insert_mode, vi_navigation_mode
from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.key_processor import KeyPressEvent
from prompt_toolkit.key_binding.vi_state import InputMode
from prompt_toolkit.keys import Keys

from robota.clients.terminal.width import letter_end, letter_start
from robota.clients.tui.key_table import NamedKey

# Shift+Enter in terminals that distinguish it from Enter; Ctrl+J is a newline everywhere.
SHIFT_ENTER: Final = ("\x1b[13;2u", "\x1b[27;2;13~", "\x1b[13;5u", "\x1b[27;5;13~")
# The names of the keys in prompt_toolkit.
NAMES: Final = {
    "c-m": NamedKey.ENTER,
    "c-i": NamedKey.TAB,
    "s-tab": NamedKey.SHIFT_TAB,
    "up": NamedKey.UP,
    "down": NamedKey.DOWN,
    "backspace": NamedKey.BACKSPACE,
    "delete": NamedKey.DELETE,
    "c-c": NamedKey.CTRL_C,
    "c-d": NamedKey.CTRL_D,
    "c-g": NamedKey.CTRL_G,
    "c-o": NamedKey.CTRL_O,
    "c-r": NamedKey.CTRL_R,
    "c-s": NamedKey.CTRL_S,
    "c-v": NamedKey.CTRL_V,
    "?": "?",
    ":": ":",
}
VI_KEYS: Final = (NamedKey.BACKSPACE, ":")


class Keyboard(msgspec.Struct, frozen=True, kw_only=True):
    """What the keys are for now, and where they go."""

    is_for_dialog: Callable[[], bool]  # every key is for an open dialog
    has_action: Callable[[str], bool]  # the key table has an action for the key
    stops_turn: Callable[[], bool]  # Esc would stop something, and nothing is written
    press: Callable[[str], None]
    paste: Callable[[str], None]


def bindings_for(keyboard: Keyboard) -> KeyBindings:
    """The bindings of all keys that are not plain editing."""
    for sequence in SHIFT_ENTER:
        ANSI_SEQUENCES[sequence] = Keys.ControlJ
    bindings = KeyBindings()
    in_dialog = Condition(keyboard.is_for_dialog)
    _bind_letters(bindings, in_dialog)
    for newline in (("c-j",), ("escape", "c-m")):
        bindings.add(*newline, filter=~in_dialog)(lambda event: event.current_buffer.insert_text("\n"))
    # vi's own keys come first where something is written: Esc ends inserting, Backspace and : move the cursor.
    is_empty = Condition(lambda: not get_app().current_buffer.text)
    not_for_vi = in_dialog | is_empty | ~vi_navigation_mode
    for name, key in NAMES.items():
        has_action = Condition(partial(keyboard.has_action, key))
        is_ours = has_action & not_for_vi if key in VI_KEYS else has_action
        bindings.add(name, filter=is_ours, eager=True)(_pressing(keyboard, key))
    ends_inserting = vi_insert_mode & ~in_dialog & ~Condition(keyboard.stops_turn)
    bindings.add("escape", filter=~ends_inserting)(_pressing(keyboard, NamedKey.ESCAPE))

    @bindings.add(Keys.Any, filter=in_dialog)
    def _(event: KeyPressEvent) -> None:
        keyboard.press(NamedKey.SPACE if event.data == " " else event.data)

    # A paste is text, whatever is open: it never answers a question.
    bindings.add(Keys.BracketedPaste, eager=True)(lambda event: keyboard.paste(event.data))
    bindings.add("c-z")(lambda event: event.app.suspend_to_background())
    bindings.add("c-l")(lambda event: event.app.renderer.clear())
    return bindings


def _pressing(keyboard: Keyboard, key: str) -> Callable[[KeyPressEvent], None]:
    def press(event: KeyPressEvent) -> None:
        keyboard.press(key)
        if key == NamedKey.ENTER and not event.current_buffer.text:
            event.app.vi_state.input_mode = InputMode.INSERT  # as in a shell, the next line is typed at once

    return press


def _bind_letters(bindings: KeyBindings, in_dialog: Filter) -> None:
    """A letter of several characters, such as an emoji with a skin tone, is passed and deleted whole."""
    in_input = ~in_dialog & ~vi_navigation_mode
    is_after_long = in_input & Condition(lambda: _letter_before() > 1)
    is_before_long = in_input & Condition(lambda: _letter_after() > 1)
    for left in ("left", "c-b"):
        bindings.add(left, filter=is_after_long)(lambda event: event.current_buffer.cursor_left(_letter_before()))
    for right in ("right", "c-f"):
        bindings.add(right, filter=is_before_long)(lambda event: event.current_buffer.cursor_right(_letter_after()))
    bindings.add("backspace", filter=is_after_long)(
        lambda event: event.current_buffer.delete_before_cursor(_letter_before())
    )
    for delete in ("delete", "c-d"):
        bindings.add(delete, filter=is_before_long)(lambda event: event.current_buffer.delete(_letter_after()))


def _letter_before() -> int:
    """How many characters the letter before the cursor has."""
    buffer = get_app().current_buffer
    return buffer.cursor_position - letter_start(buffer.text, buffer.cursor_position)


def _letter_after() -> int:
    """How many characters the letter at the cursor has."""
    buffer = get_app().current_buffer
    return letter_end(buffer.text, buffer.cursor_position) - buffer.cursor_position
