"""What a user sees of a tool's result: a small closed set of shapes that every client can draw."""

from typing import Any

from robota.protocol.wire import OpenValue, Value


class TextView(OpenValue, frozen=True, kw_only=True, tag="text", tag_field="kind"):
    """Plain text, or Markdown, which a client may show as it is."""

    text: str
    is_markdown: bool = False


class DiffLine(Value, frozen=True, kw_only=True):
    """`kind` is context, add or remove; a line number is absent on the side where the line does not exist."""

    kind: str
    text: str
    old_line: int | None = None
    new_line: int | None = None


class DiffHunk(Value, frozen=True, kw_only=True):
    """A run of changed lines with the lines around it."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    lines: tuple[DiffLine, ...]


class DiffView(OpenValue, frozen=True, kw_only=True, tag="diff", tag_field="kind"):
    """The changes to one file."""

    path: str
    added: int
    removed: int
    hunks: tuple[DiffHunk, ...] = ()
    is_new: bool = False


class DiffsView(OpenValue, frozen=True, kw_only=True, tag="diffs", tag_field="kind"):
    """Changes to several files at once."""

    files: tuple[DiffView, ...]


class NamedText(Value, frozen=True, kw_only=True):
    """A named text."""

    name: str
    text: str


class FieldsView(OpenValue, frozen=True, kw_only=True, tag="fields", tag_field="kind"):
    """Named texts, such as the arguments of a call."""

    fields: tuple[NamedText, ...]
    heading: str = ""


class TableView(OpenValue, frozen=True, kw_only=True, tag="table", tag_field="kind"):
    """Rows of text under headings; without `columns`, there are no headings."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class TerminalView(OpenValue, frozen=True, kw_only=True, tag="terminal", tag_field="kind"):
    """What a command printed; `exit_code` is absent if a signal ended it or it has not ended."""

    command: str
    output: str
    exit_code: int | None = None
    signal: str | None = None
    timed_out: bool = False


class TodoView(OpenValue, frozen=True, kw_only=True, tag="todos", tag_field="kind"):
    """A todo list."""

    items: tuple[dict[str, Any], ...]


SimpleView = TextView | FieldsView | TableView


class PartsView(OpenValue, frozen=True, kw_only=True, tag="parts", tag_field="kind"):
    """Several simple views below one another."""

    parts: tuple[SimpleView, ...]


View = PartsView | TextView | DiffView | DiffsView | FieldsView | TableView | TerminalView | TodoView
