"""Joins the halves of UTF-16 pairs that a server sent in two pieces."""


class PairMender:
    """Holds back the first half until the second arrives; a half that stays alone becomes a replacement mark."""

    def __init__(self) -> None:
        self._half = ""

    def mend(self, text: str) -> str:
        text = self._half + text
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        whole = text[:-1] if self._half else text
        return whole.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
