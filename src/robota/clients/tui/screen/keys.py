"""Bind prompt_toolkit's keys to the key table; what the table leaves alone is edited by prompt_toolkit."""

from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec
from prompt_toolkit.application import get_app
from prompt_toolkit.filters import Always, Condition, Filter, vi_insert_mode, vi_mode, vi_navigation_mode
from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.key_processor import KeyPressEvent
from prompt_toolkit.key_binding.vi_state import InputMode
from prompt_toolkit.keys import Keys

from robota.clients.terminal.width import letter_end, letter_start
from robota.clients.tui.key_table import TABLE_KEYS, USUAL, Bindings, BoundAction, NamedKey

# Shift+Enter in terminals that distinguish it from Enter; Ctrl+J is a newline everywhere.
SHIFT_ENTER: Final = ("\x1b[13;2u", "\x1b[27;2;13~", "\x1b[13;5u", "\x1b[27;5;13~")
# The names that prompt_toolkit has for the keys whose meaning cannot be changed.
NAMES: Final = {
    "c-i": NamedKey.TAB,
    "up": NamedKey.UP,
    "down": NamedKey.DOWN,
    "pageup": NamedKey.PAGE_UP,
    "pagedown": NamedKey.PAGE_DOWN,
    "backspace": NamedKey.BACKSPACE,
    "delete": NamedKey.DELETE,
    "c-c": NamedKey.CTRL_C,
    "c-d": NamedKey.CTRL_D,
    "?": "?",
    ":": ":",
}
IS_EMPTY: Final = Condition(lambda: not get_app().current_buffer.text)
VI_KEYS: Final = (NamedKey.BACKSPACE, ":")


class Keyboard(msgspec.Struct, frozen=True, kw_only=True):
    """What the keys are for now, and where they go."""

    is_for_dialog: Callable[[], bool]  # every key is for an open dialog
    has_action: Callable[[str], bool]  # the key table has an action for the key
    stops_turn: Callable[[], bool]  # Esc would stop something, and nothing is written
    press: Callable[[str], None]
    paste: Callable[[str], None]


def bindings_for(keyboard: Keyboard, own: Bindings = USUAL) -> KeyBindings:
    """The bindings of all keys that are not plain editing; `own` says which of the changeable ones does what."""
    for sequence in SHIFT_ENTER:
        ANSI_SEQUENCES[sequence] = Keys.ControlJ
    bindings = KeyBindings()
    in_dialog = Condition(keyboard.is_for_dialog)
    _bind_letters(bindings, in_dialog)
    _bind_chosen(bindings, keyboard, own)
    # vi's own keys come first where something is written: Esc ends inserting, Backspace and : move the cursor.
    not_for_vi = in_dialog | IS_EMPTY | ~vi_navigation_mode
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
    return bindings


def _bind_chosen(bindings: KeyBindings, keyboard: Keyboard, own: Bindings) -> None:
    """Bind the keys that the user can choose. Enter answers a dialog and an empty input whatever else it does."""
    in_dialog = Condition(keyboard.is_for_dialog)
    is_enter_only = in_dialog | IS_EMPTY
    if own.get("enter") is not BoundAction.SEND:
        pressing = _pressing(keyboard, NamedKey.ENTER)
        bindings.add("c-m", filter=is_enter_only, eager=True)(pressing)
    for key, action in own.items():
        keys = sequence_of(key)
        # With vi keys, Esc and a letter are two keys: the first ends inserting.
        is_wanted = Always() if len(keys) == 1 or keys[1] == "c-m" else ~vi_mode
        if action in TABLE_KEYS:
            named = TABLE_KEYS[action]
            has_action = Condition(partial(keyboard.has_action, named))
            bindings.add(*keys, filter=has_action & is_wanted, eager=True)(_pressing(keyboard, named))
        elif action is BoundAction.NEW_LINE:
            is_text = ~is_enter_only if key == "enter" else ~in_dialog
            bindings.add(*keys, filter=is_text & is_wanted)(lambda event: event.current_buffer.insert_text("\n"))
        elif action is BoundAction.SUSPEND:
            bindings.add(*keys, filter=is_wanted)(lambda event: event.app.suspend_to_background())
        else:
            bindings.add(*keys, filter=is_wanted)(lambda event: event.app.renderer.clear())


def sequence_of(key: str) -> tuple[str, ...]:
    """The names that prompt_toolkit has for a key in the notation of the user's file."""
    *modifiers, name = key.split("+")
    name = "c-m" if name == "enter" else name
    match modifiers:
        case ["ctrl"]:
            return (f"c-{name}",)
        case ["alt"]:
            return ("escape", name)
        case ["shift"]:
            return (f"s-{name}",)
        case _:
            return (name,)


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
