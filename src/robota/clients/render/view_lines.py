"""Format calls and views as lines: shortened for past events, complete for decisions of the user."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final, assert_never

import msgspec

from robota.clients.terminal.line import BOLD, DIM, GREEN, INSET, RED, Line
from robota.clients.terminal.width import columns_of, wrapped
from robota.protocol.message import TodoItem
from robota.protocol.views import (
    DiffHunk,
    DiffsView,
    DiffView,
    FieldsView,
    NamedText,
    PartsView,
    TableView,
    TerminalView,
    TextView,
    TodoView,
    View,
)
from robota.text.visible import single_line, visible

SHORT_DIFF_LINES: Final = 20
SIGNS: Final = {"add": ("+", GREEN), "remove": ("-", RED)}
TAB: Final = frozenset("\t")  # without the newline, which would start another line
SHORT_OUTPUT_LINES: Final = 10
MAX_REASON_LENGTH: Final = 400
MAX_REASON_LINES: Final = 6
WORTH_TELLING_MS: Final = 1000
STEP: Final = "  "
MAX_COLUMN_WIDTH: Final = 32
TODO_MARKS: Final = {"completed": ("[x]", DIM), "in_progress": ("[-]", BOLD)}


def title_line(title: str, bullet: str) -> Line:
    """The line with the title of a call."""
    return Line(f"{bullet} {title}", BOLD, STEP)


def result_lines(
    status: str, reason: str | None, view: View | None, duration_ms: int, *, of: str = ""
) -> Iterator[Line]:
    """The result of a call; `of` repeats its title if that is not right above."""
    if status != "success":
        which = f" {of}" if of else ""
        first, *quoted = (reason or "").split("\n")[:MAX_REASON_LINES]
        why = f": {single_line(first, MAX_REASON_LENGTH)}" if first else ""
        yield Line(f"{INSET}{status}{which}{why}", RED, INSET)
        yield from (Line(f"{INSET}{single_line(line, MAX_REASON_LENGTH)}", RED, INSET) for line in quoted)
    yield from short_view(view)
    if duration_ms >= WORTH_TELLING_MS:
        yield Line(f"{INSET}{duration_ms / 1000:.1f} s", DIM)


def short_view(view: View | None) -> Iterator[Line]:
    """The important part of a result: changes, and the end of a command's output."""
    match view:
        case DiffView():
            yield from short_diff(view)
        case DiffsView():
            for file in view.files:
                yield from short_diff(file)
        case TerminalView():
            yield from _short_output(view)
        case TextView() | FieldsView() | TableView() | PartsView() | TodoView() | None:
            return
        case never:
            assert_never(never)


def view_text(view: View) -> str:
    """The whole view as plain text."""
    return "\n".join(line.text.removeprefix(INSET) for line in whole_view(view))


def whole_view(view: View | None, *, choosable_hunks: int = 0, width: int | None = None) -> Iterable[Line]:
    """The complete view, with invisible characters shown. `width` is the terminal's, if there is one."""
    match view:
        case DiffView():
            return whole_diff(view, is_numbered=choosable_hunks > 0)
        case DiffsView():
            return chain.from_iterable(map(whole_diff, view.files))
        case TerminalView():
            return _command(view.command)
        case FieldsView():
            return _fields(view, width)
        case TextView():
            return _text_lines(view.text, width)
        case TableView():
            return _table(view, width)
        case TodoView():
            return todo_lines(msgspec.convert(view.items, tuple[TodoItem, ...]))
        case PartsView() | None:
            parts = () if view is None else view.parts
            return chain.from_iterable(whole_view(part, width=width) for part in parts)
        case never:
            assert_never(never)


def todo_lines(todos: Iterable[TodoItem]) -> Iterator[Line]:
    """One line for each item, with a box for its status."""
    for item in todos:
        mark, colour = TODO_MARKS.get(item.status, ("[ ]", None))
        yield Line(f"{INSET}{mark} {item.content}", colour)


def visible_lines(text: str) -> list[str]:
    """The lines of a text, with invisible characters shown."""
    return [visible(line.removesuffix("\r"), TAB) for line in text.split("\n")]


def _text_lines(text: str, width: int | None) -> Iterator[Line]:
    return (Line(part) for line in visible_lines(text) for part in _between_words(INSET + line, width, INSET))


def _between_words(line: str, width: int | None, indent: str) -> list[str]:
    return wrapped(line, width, indent).split("\n")


def _command(command: str) -> Iterator[Line]:
    first, *more = visible_lines(command)
    yield Line(f"{INSET}$ {first}", BOLD)
    yield from (Line(f"{INSET}  {line}", BOLD) for line in more)


def _fields(view: FieldsView, width: int | None) -> Iterator[Line]:
    if view.heading:
        yield Line(f"{INSET}{visible(view.heading, TAB)}", BOLD)
    for field in view.fields:
        yield from map(Line, _named(field, width))


def _named(field: NamedText, width: int | None) -> Iterator[str]:
    """A text after its name; further lines are indented, so that none looks like another name."""
    first, *more = visible_lines(field.text)
    beneath = f"{INSET}  "
    yield from _between_words(f"{INSET}{visible(field.name, TAB)}: {first}", width, beneath)
    for line in more:
        yield from _between_words(beneath + line, width, beneath)


def _table(view: TableView, width: int | None) -> Iterator[Line]:
    """Columns as wide as their widest cell, up to a limit; the last one is wrapped at the terminal's width."""
    headings = (view.columns,) if view.columns else ()
    rows = [[visible(cell, TAB) for cell in row] for row in (*headings, *view.rows)]
    widths = [min(MAX_COLUMN_WIDTH, max(map(columns_of, column))) for column in zip(*rows, strict=True)][:-1]
    indent = INSET + " " * sum(each + 2 for each in widths)
    for number, (*cells, last) in enumerate(rows):
        padded = (cell + " " * (each - columns_of(cell)) for cell, each in zip(cells, widths, strict=True))
        front = INSET + "".join(f"{cell}  " for cell in padded)
        # A cell that is wider than its column gets a separate line.
        text = f"{front.rstrip()}\n{indent}{last}" if columns_of(front) > columns_of(indent) else front + last
        for line in _between_words(text, width, indent):
            yield Line(line.rstrip(), DIM if number < len(headings) else None)


def _short_output(view: TerminalView) -> Iterator[Line]:
    lines = view.output.splitlines()
    if len(lines) > SHORT_OUTPUT_LINES:
        yield Line(f"{INSET}({len(lines) - SHORT_OUTPUT_LINES} lines before)", DIM)
    for line in lines[-SHORT_OUTPUT_LINES:]:
        yield Line(f"{INSET}| {line}".rstrip(), DIM)
    if view.timed_out:
        yield Line(f"{INSET}timed out", RED)
    elif view.exit_code:
        yield Line(f"{INSET}exit code {view.exit_code}", RED)
    elif view.signal is not None:
        yield Line(f"{INSET}ended by {view.signal}", RED)


def short_diff(view: DiffView) -> Iterator[Line]:
    """The changed file, the size of the change, and its first lines."""
    yield Line(f"{INSET}{view.path} +{view.added} -{view.removed}", DIM)
    lines = [line for hunk in view.hunks for line in hunk.lines]
    for line in lines[:SHORT_DIFF_LINES]:
        sign, colour = SIGNS.get(line.kind, (" ", None))
        yield Line(f"{INSET}{sign} {line.text}".rstrip("\r\n"), colour)
    if len(lines) > SHORT_DIFF_LINES:
        yield Line(f"{INSET}({len(lines) - SHORT_DIFF_LINES} more lines)", DIM)


def whole_diff(view: DiffView, *, is_numbered: bool = False) -> Iterator[Line]:
    """Every line of a diff, with invisible characters shown; hunks are numbered from 1 if they can be selected."""
    yield Line(f"{INSET}{visible(view.path, TAB)}{' (new file)' if view.is_new else ''}", BOLD)
    for number, hunk in enumerate(view.hunks, start=1):
        mark = f"[{number}] " if is_numbered else ""
        yield Line(f"{INSET}{mark}{_hunk_range(hunk)}", DIM)
        for line in hunk.lines:
            sign, colour = SIGNS.get(line.kind, (" ", None))
            text = line.text.removesuffix("\n").removesuffix("\r")
            yield Line(f"{INSET}{sign}{visible(text, TAB)}", colour)


def _hunk_range(hunk: DiffHunk) -> str:
    return f"@@ -{hunk.old_start},{hunk.old_count} +{hunk.new_start},{hunk.new_count} @@"
