"""A question with two answers: y and n, or a row that an arrow chose and Enter."""

import msgspec

from robota.clients.tui.flows.selection import Selection


class ConfirmPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """An open question. Nothing is chosen at first, so that Enter alone answers nothing."""

    question: str
    yes: str = "yes"
    no: str = "no"
    rows: Selection = Selection(count=2, index=None, wraps=False)


def press_to_confirm(prompt: ConfirmPrompt, key: str) -> ConfirmPrompt | bool:
    """The question after a key, or its answer. Esc is a no."""
    match key:
        case "y" | "n":
            return key == "y"
        case "escape":
            return False
        case "up" | "down":
            return msgspec.structs.replace(prompt, rows=prompt.rows.moved(1 if key == "down" else -1))
        case "enter" if prompt.rows.index is not None:
            return prompt.rows.index == 0
        case _:
            return prompt


def is_no_answer(key: str) -> bool:
    """Whether the key is a letter of other text: then the user is typing, and the question is closed."""
    return key == "space" or (len(key) == 1 and key.isprintable() and key not in "yn")
