"""Choose from a list: arrows move, letters filter, Enter selects, Esc cancels."""

import msgspec

from robota.clients.tui.flows.selection import Selection
from robota.protocol.slash_commands import CommandChoice, CommandOption

ROWS_SHOWN = 10


class ListPicker(msgspec.Struct, frozen=True, kw_only=True):
    """An open list. `words` filters the options: each of them must occur in the label or the detail."""

    choice: CommandChoice
    words: str = ""
    rows: Selection

    @property
    def options(self) -> tuple[CommandOption, ...]:
        """The options that match the filter."""
        return matching_options(self.choice, self.words)

    @property
    def chosen(self) -> CommandOption | None:
        """The option that Enter selects."""
        options = self.options
        return options[self.rows.index or 0] if options else None


class Picked(msgspec.Struct, frozen=True):
    """The chosen option; None if the user closed the list."""

    option: CommandOption | None


def picker_for(choice: CommandChoice, words: str = "") -> ListPicker:
    """The list filtered by the words; the first row is selected, or the current value."""
    options = matching_options(choice, words)
    now = next((index for index, option in enumerate(options) if option.is_current), 0)
    rows = Selection(count=len(options), index=now if not words else 0, height=ROWS_SHOWN)
    return ListPicker(choice=choice, words=words, rows=rows)


def matching_options(choice: CommandChoice, words: str) -> tuple[CommandOption, ...]:
    """The options that contain every word; first those that contain them all in their label."""
    typed = words.casefold().split()
    matching = [
        option
        for option in choice.options
        if all(word in f"{option.label} {option.detail}".casefold() for word in typed)
    ]
    return tuple(sorted(matching, key=lambda option: not all(word in option.label.casefold() for word in typed)))


def press_in_list(picker: ListPicker, key: str) -> ListPicker | Picked:
    """The list after a key, or the choice."""
    match key:
        case "up" | "down":
            return msgspec.structs.replace(picker, rows=picker.rows.moved(1 if key == "down" else -1))
        case "escape":
            return Picked(None)
        case "enter":
            return picker if picker.chosen is None else Picked(picker.chosen)
        case "backspace":
            return picker_for(picker.choice, picker.words[:-1])
        case "space":
            return picker_for(picker.choice, f"{picker.words} ")
        case _ if len(key) == 1 and key.isprintable():
            return picker_for(picker.choice, picker.words + key)
        case _:
            return picker
