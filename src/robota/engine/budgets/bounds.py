"""How large a request to a model can be: its input from its length, its output from those before."""

from math import ceil
from typing import Final

from robota.engine.record.history import characters_of
from robota.protocol.conversation import TextBlock, ToolResultBlock, Turn
from robota.providers.chunks import ModelRequest, ToolSpec

# Hardly any text has more tokens; most have half as many.
BYTES_A_TOKEN: Final = 2
FIRST_OUTPUT: Final = 8_192
SMALLEST_OUTPUT: Final = 4_096
LARGEST_OUTPUT: Final = 65_536
SAMPLES: Final = 200
SHARE_BELOW: Final = 0.99


class InputBound:
    """The most tokens that the input of a task's next request can have.

    What was sent before is known from the server; of the rest, only the length is.
    """

    def __init__(self) -> None:
        self._counted = 0
        self._counted_bytes = 0
        self._excess = 1.0  # how much more a server counts than was expected
        self._turns = 0
        self._last: Turn | None = None
        self._bytes = 0
        self._head: tuple[str, tuple[ToolSpec, ...]] | None = None
        self._head_bytes = 0

    def tokens(self, request: ModelRequest) -> int:
        """The bound of a request."""
        size = self._size(request)
        if size >= self._counted_bytes:
            expected = self._counted + (size - self._counted_bytes) / BYTES_A_TOKEN
        else:  # the conversation was shortened
            expected = min(size / BYTES_A_TOKEN, self._counted * size / self._counted_bytes * 1.25)
        return ceil(expected * self._excess)

    def counted(self, request: ModelRequest, bound: int, reported: int) -> None:
        """Take over the count of a server."""
        if reported <= 0:
            return
        if reported > bound > 0:
            self._excess = min(4.0, self._excess * reported / bound)
        self._counted, self._counted_bytes = reported, self._size(request)

    def _size(self, request: ModelRequest) -> int:
        head = (request.system, request.tools)
        if self._head is None or self._head[0] is not head[0] or self._head[1] is not head[1]:
            self._head = head
            self._head_bytes = len(request.system.encode("utf-8", "replace")) + sum(
                tool.characters for tool in request.tools
            )
        turns, known = request.turns, self._turns
        is_longer = known <= len(turns) and (known == 0 or turns[known - 1] is self._last)
        new = turns[known:] if is_longer else turns
        self._bytes = (self._bytes if is_longer else 0) + sum(map(_bytes_of, new))
        self._turns, self._last = len(turns), turns[-1] if turns else None
        return self._head_bytes + self._bytes


def _bytes_of(turn: Turn) -> int:
    """The length of a turn in UTF-8, as far as it is text; the rest counts as in the estimate of the context."""
    texts = [text for block in turn.content if (text := _text_of(block)) is not None and not text.isascii()]
    return characters_of(turn) + sum(len(text.encode("utf-8", "replace")) - len(text) for text in texts)


def _text_of(block: object) -> str | None:
    match block:
        case TextBlock():
            return block.text
        case ToolResultBlock():
            return block.content
        case _:
            return None


class OutputBounds:
    """How much output is held for, by model: twice what nearly all replies needed, and more after one was cut off."""

    def __init__(self) -> None:
        self._seen: dict[str, list[int]] = {}
        self._grown: dict[str, int] = {}

    def of(self, model: str, most: int | None) -> int:
        """The bound for the next request; `most` is that of the model. Powers of two, so that it rarely changes."""
        seen = self._seen.get(model)
        wanted = FIRST_OUTPUT if not seen else 2 * sorted(seen)[int(SHARE_BELOW * (len(seen) - 1))]
        wanted = max(SMALLEST_OUTPUT, self._grown.get(model, 0), 1 << max(0, wanted - 1).bit_length())
        return min(wanted, most or LARGEST_OUTPUT)

    def ended(self, model: str, output: int, bound: int, *, is_cut: bool) -> None:
        """Note the output of a reply."""
        seen = self._seen.setdefault(model, [])
        seen.append(output)
        del seen[:-SAMPLES]
        if is_cut:
            self._grown[model] = min(LARGEST_OUTPUT, 2 * bound)
