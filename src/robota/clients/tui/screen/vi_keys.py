"""Vi keys that prompt_toolkit handles differently from vi."""

from prompt_toolkit.application import get_app
from prompt_toolkit.filters import Condition, vi_navigation_mode
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.bindings.vi import TextObject, create_operator_decorator
from prompt_toolkit.key_binding.key_processor import KeyPressEvent
from prompt_toolkit.key_binding.vi_state import InputMode

from robota.clients.tui.key_table import NamedKey
from robota.clients.tui.screen.keys import Keyboard

WORDS = ("w", "W")


def bind_vi_keys(bindings: KeyBindings, keyboard: Keyboard) -> None:
    """`cw` leaves the space after the word, and `k` and `j` lead into the history."""
    operator = create_operator_decorator(bindings)
    in_navigation = vi_navigation_mode & ~Condition(keyboard.is_for_dialog)
    on_first_line = Condition(lambda: get_app().current_buffer.document.on_first_line)
    on_last_line = Condition(lambda: get_app().current_buffer.document.on_last_line)
    is_moving = Condition(lambda: get_app().vi_state.operator_func is None)
    bindings.add("k", filter=in_navigation & is_moving & on_first_line)(lambda event: keyboard.press(NamedKey.UP))
    bindings.add("j", filter=in_navigation & is_moving & on_last_line)(lambda event: keyboard.press(NamedKey.DOWN))

    @operator("c", filter=~Condition(keyboard.is_for_dialog))
    def _(event: KeyPressEvent, changed: TextObject) -> None:
        buffer = event.current_buffer
        if event.key_sequence[0].key in WORDS:
            changed = _without_space_after(changed, buffer.text[buffer.cursor_position :])
        document, cut = changed.cut(buffer)
        buffer.document = document
        event.app.clipboard.set_data(cut)
        event.app.vi_state.input_mode = InputMode.INSERT


def _without_space_after(changed: TextObject, text: str) -> TextObject:
    """The text object without trailing space; unchanged if it is only space."""
    _, end = changed.sorted()
    word = text[:end].rstrip()
    return TextObject(len(word)) if word else changed
