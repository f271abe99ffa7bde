"""Halves of UTF-16 surrogate pairs: they have no UTF-8 form, so JSON cannot carry them."""

from typing import Any


class SurrogateJoiner:
    """Joins pairs that arrive in two pieces of a stream.

    A first half is held back until the second arrives; a half that stays alone becomes a replacement character.
    """

    def __init__(self) -> None:
        self._half = ""

    def join(self, text: str) -> str:
        """The text so far complete: what was held back, and `text` without a half at its end."""
        text = self._half + text
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        whole = text[:-1] if self._half else text
        return whole.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def with_whole_characters(node: Any) -> Any:
    """The same JSON data with every lone half replaced by a replacement character."""
    if isinstance(node, str):
        return node.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(node, list | tuple):
        return [with_whole_characters(item) for item in node]
    if isinstance(node, dict):
        return {with_whole_characters(key): with_whole_characters(value) for key, value in node.items()}
    return node
