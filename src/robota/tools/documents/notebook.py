"""The cells of a notebook and their text output."""

from collections.abc import Iterator
from typing import Any

import msgspec

MAX_OUTPUT_LINES = 50


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """A cell of a notebook."""

    cell_type: str = "raw"
    source: str | list[str] = ""
    outputs: list[dict[str, Any]] = []


class Notebook(msgspec.Struct, frozen=True, kw_only=True):
    """A notebook, as far as its text goes."""

    cells: list[Cell] = []


def notebook_lines(data: bytes) -> Iterator[str] | None:
    """The text of a notebook; None if it is malformed, so that its source is shown and can be repaired."""
    try:
        notebook = msgspec.json.decode(data, type=Notebook)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return _lines(notebook)


def _lines(notebook: Notebook) -> Iterator[str]:
    for number, cell in enumerate(notebook.cells, 1):
        yield f"--- cell {number} ({cell.cell_type}) ---"
        yield from _as_text(cell.source).split("\n")
        for output in cell.outputs:
            yield f"--- output of cell {number} ---"
            yield from _capped(_output_text(output).rstrip("\n").split("\n"))


def _output_text(output: dict[str, Any]) -> str:
    match output:
        case {"text": str() | list() as text}:
            return _as_text(text)
        case {"traceback": [*lines]}:
            return "\n".join(str(line) for line in lines)
        case {"data": {"text/plain": str() | list() as text}}:
            return _as_text(text)
        case {"data": {**kinds}}:
            return f"({', '.join(str(kind) for kind in kinds)})"
    return f"({output.get('output_type', 'output')})"


def _as_text(text: str | list[Any]) -> str:
    return text if isinstance(text, str) else "".join(str(part) for part in text)


def _capped(lines: list[str]) -> list[str]:
    left_out = len(lines) - MAX_OUTPUT_LINES
    return lines if left_out <= 0 else [*lines[:MAX_OUTPUT_LINES], f"({left_out} more lines of output)"]
