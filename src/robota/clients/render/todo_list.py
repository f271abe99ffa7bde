"""A todo list as lines."""

from collections.abc import Iterable, Iterator
from typing import Final

from robota.clients.terminal.line import BOLD, DIM, INSET, Line
from robota.protocol.message import TodoItem

MARKS: Final = {"completed": ("[x]", DIM), "in_progress": ("[-]", BOLD)}


def todo_lines(todos: Iterable[TodoItem]) -> Iterator[Line]:
    """One line for each item, with a box that says how far it is."""
    for item in todos:
        mark, colour = MARKS.get(item.status, ("[ ]", None))
        yield Line(f"{INSET}{mark} {item.content}", colour)
