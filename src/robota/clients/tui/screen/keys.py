"""Bind prompt_toolkit's keys to the actions of the conversation."""

from collections.abc import Callable
from typing import Final, Protocol

from prompt_toolkit.application import get_app
from prompt_toolkit.filters import Condition, vi_insert_mode, vi_navigation_mode
from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.key_processor import KeyPressEvent
from prompt_toolkit.key_binding.vi_state import InputMode
from prompt_toolkit.keys import Keys

from robota.clients.terminal.width import letter_end, letter_start

# Shift+Enter in terminals that distinguish it from Enter; Ctrl+J is a newline everywhere.
SHIFT_ENTER: Final = ("\x1b[13;2u", "\x1b[27;2;13~", "\x1b[13;5u", "\x1b[27;5;13~")
DIALOG_KEYS: Final = {
    "up": "up",
    "down": "down",
    "c-m": "enter",
    "c-i": "tab",
    "escape": "escape",
    "backspace": "backspace",
    "delete": "delete",
    "c-s": "ctrl-s",
    "c-o": "ctrl-o",
    "c-g": "ctrl-g",
}


class Keyboard(Protocol):
    """The actions of the keys. Text is edited by prompt_toolkit, with Emacs or vi keys."""

    def dialog_takes_keys(self) -> bool: ...

    def has_popup(self) -> bool: ...

    def press_in_dialog(self, key: str) -> None: ...

    def move_in_popup(self, by: int) -> None: ...

    def take_candidate(self) -> None: ...

    def enter(self) -> None: ...

    def steer(self) -> None: ...

    def has_queue(self) -> bool: ...

    def remove_queued(self) -> None: ...

    def is_behind_label(self) -> bool: ...

    def erase_label(self) -> None: ...

    def is_behind_file(self) -> bool: ...

    def begin_range(self) -> None: ...

    def can_stop(self) -> bool: ...

    def escape(self) -> None: ...

    def interrupt(self) -> None: ...

    def end_of_input(self) -> None: ...

    def tab(self) -> None: ...

    def older(self) -> None: ...

    def newer(self) -> None: ...

    def paste(self, text: str) -> None: ...

    def paste_from_clipboard(self) -> None: ...

    def next_permission_mode(self) -> None: ...

    def search_history(self) -> None: ...

    def edit_in_editor(self) -> None: ...

    def show_transcript(self) -> None: ...

    def show_keys(self) -> None: ...

    def suspend(self) -> None: ...


def bindings_for(keyboard: Keyboard) -> KeyBindings:
    """The table of keys."""
    for sequence in SHIFT_ENTER:
        ANSI_SEQUENCES[sequence] = Keys.ControlJ
    bindings = KeyBindings()
    _bind_dialog(bindings, keyboard)
    _bind_popup(bindings, keyboard)
    _bind_letters(bindings, keyboard)
    _bind_input(bindings, keyboard)
    _bind_always(bindings, keyboard)
    return bindings


def _bind_dialog(bindings: KeyBindings, keyboard: Keyboard) -> None:
    in_dialog = Condition(keyboard.dialog_takes_keys)

    def pressing(key: str) -> Callable[[KeyPressEvent], None]:
        return lambda event: keyboard.press_in_dialog(key)

    for name, key in DIALOG_KEYS.items():
        bindings.add(name, filter=in_dialog, eager=name != "escape")(pressing(key))

    @bindings.add(Keys.Any, filter=in_dialog)
    def _(event: KeyPressEvent) -> None:
        keyboard.press_in_dialog("space" if event.data == " " else event.data)


def _bind_popup(bindings: KeyBindings, keyboard: Keyboard) -> None:
    in_popup = Condition(keyboard.has_popup) & ~Condition(keyboard.dialog_takes_keys)
    bindings.add("up", filter=in_popup)(lambda event: keyboard.move_in_popup(-1))
    bindings.add("down", filter=in_popup)(lambda event: keyboard.move_in_popup(1))
    bindings.add("c-i", filter=in_popup)(lambda event: keyboard.take_candidate())


def _bind_input(bindings: KeyBindings, keyboard: Keyboard) -> None:
    in_input = ~Condition(keyboard.dialog_takes_keys)
    without_popup = in_input & ~Condition(keyboard.has_popup)
    is_empty = Condition(lambda: not get_app().current_buffer.text)

    @bindings.add("c-m", filter=in_input)
    def _(event: KeyPressEvent) -> None:
        keyboard.enter()
        if not event.current_buffer.text:
            event.app.vi_state.input_mode = InputMode.INSERT  # as in a shell, the next line is typed at once

    bindings.add("c-s", filter=in_input, eager=True)(lambda event: keyboard.steer())
    bindings.add("c-v", filter=in_input, eager=True)(lambda event: keyboard.paste_from_clipboard())
    bindings.add("backspace", filter=in_input & Condition(keyboard.has_queue))(lambda event: keyboard.remove_queued())
    behind_label = in_input & ~vi_navigation_mode & Condition(keyboard.is_behind_label)
    bindings.add("backspace", filter=behind_label)(lambda event: keyboard.erase_label())
    behind_file = in_input & ~vi_navigation_mode & Condition(keyboard.is_behind_file)
    bindings.add(":", filter=behind_file)(lambda event: keyboard.begin_range())
    for newline in (("c-j",), ("escape", "c-m")):
        bindings.add(*newline, filter=in_input)(lambda event: event.current_buffer.insert_text("\n"))
    bindings.add("up", filter=without_popup)(lambda event: keyboard.older())
    bindings.add("down", filter=without_popup)(lambda event: keyboard.newer())
    bindings.add("c-i", filter=without_popup)(lambda event: keyboard.tab())
    # Otherwise vi's Esc ends inserting; but where nothing is written, it is for what runs.
    is_for_what_runs = is_empty & Condition(keyboard.can_stop)
    bindings.add("escape", filter=in_input & (~vi_insert_mode | is_for_what_runs))(lambda event: keyboard.escape())
    bindings.add("c-r", filter=in_input)(lambda event: keyboard.search_history())
    bindings.add("c-g", filter=in_input)(lambda event: keyboard.edit_in_editor())
    bindings.add("c-o", filter=in_input)(lambda event: keyboard.show_transcript())
    bindings.add("?", filter=in_input & is_empty)(lambda event: keyboard.show_keys())
    bindings.add("c-d", filter=in_input & is_empty)(lambda event: keyboard.end_of_input())


def _bind_letters(bindings: KeyBindings, keyboard: Keyboard) -> None:
    """A letter of several characters, such as an emoji with a skin tone, is passed and deleted whole."""
    in_input = ~Condition(keyboard.dialog_takes_keys) & ~vi_navigation_mode
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


def _bind_always(bindings: KeyBindings, keyboard: Keyboard) -> None:
    # A paste is text, whatever is open: it never answers a question.
    bindings.add(Keys.BracketedPaste, eager=True)(lambda event: keyboard.paste(event.data))
    bindings.add("c-c")(lambda event: keyboard.interrupt())
    bindings.add("s-tab")(lambda event: keyboard.next_permission_mode())
    bindings.add("c-z")(lambda event: keyboard.suspend())
    bindings.add("c-l")(lambda event: event.app.renderer.clear())
