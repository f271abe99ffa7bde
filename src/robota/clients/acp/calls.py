"""A call as an editor shows it: its kind, the files it touches, and its content."""

import posixpath
from collections.abc import Iterator, Mapping
from typing import Any, Final, assert_never

from robota.clients.acp.content import TextContent
from robota.clients.acp.updates import CallContent, CallLocation, ShownContent, ShownDiff
from robota.clients.render.view_lines import view_text
from robota.protocol.views import (
    DiffHunk,
    DiffsView,
    DiffView,
    FieldsView,
    PartsView,
    TableView,
    TerminalView,
    TextView,
    TodoView,
    View,
)
from robota.text.visible import visible

# What a tool does, by the label with which the titles of its calls begin.
KINDS: Final[Mapping[str, str]] = {
    "Read": "read",
    "List": "search",
    "Glob": "search",
    "Grep": "search",
    "Write": "edit",
    "Edit": "edit",
    "Diff": "edit",
    "Patch": "edit",
    "Bash": "execute",
    "Output": "execute",
    "BackgroundProcess": "execute",
    "WebFetch": "fetch",
    "Todo": "think",
    "Mode": "switch_mode",
}
STATUSES: Final[Mapping[str, str]] = {"success": "completed"}
MAX_OUTPUT: Final = 32_000
PATH_FIELDS: Final = ("path", "file_path")


def kind_of(title: str) -> str:
    """The kind of a call, by its title."""
    return KINDS.get(title.partition(" ")[0], "other")


def status_of(status: str) -> str:
    """Whether a call that has ended went well."""
    return STATUSES.get(status, "failed")


def locations_of(arguments: Mapping[str, Any], view: View | None, cwd: str) -> tuple[CallLocation, ...]:
    """The files that a call names or changes."""
    paths = dict.fromkeys(value for name in PATH_FIELDS if isinstance(value := arguments.get(name), str) and value)
    paths.update(dict.fromkeys(each.path for each in _diffs(view)))
    line = arguments.get("offset")
    start = line if isinstance(line, int) and line > 0 and len(paths) == 1 else None
    return tuple(CallLocation(path=posixpath.join(cwd, path), line=start) for path in paths)


def content_of(view: View | None, cwd: str) -> tuple[CallContent, ...]:
    """What a call shows: changes as diffs, everything else as text."""
    match view:
        case None | TodoView():
            return ()
        case DiffView() | DiffsView():
            return tuple(part for file in _diffs(view) for part in _changes(file, cwd))
        case TerminalView():
            return (terminal_text(view.output, view),) if view.output or view.exit_code is not None else ()
        case TextView() | FieldsView() | TableView() | PartsView():
            return (text_content(view_text(view)),)
        case never:
            assert_never(never)


def text_content(text: str) -> ShownContent:
    """Text in a call."""
    return ShownContent(content=TextContent(text=text))


def whole_text(view: View) -> ShownContent:
    """A view with nothing left out, such as the whole command, and with invisible characters shown."""
    return _fenced(view_text(view))


def terminal_text(output: str, ended: TerminalView | None = None) -> ShownContent:
    """The end of what a command printed, and how it ended."""
    shown = output if len(output) <= MAX_OUTPUT else f"…{output[-MAX_OUTPUT:]}"
    return _fenced(visible(shown), _ending(ended))


def _fenced(text: str, ending: str = "") -> ShownContent:
    longest = max((len(run) for run in _backtick_runs(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return text_content(f"{fence}console\n{text.rstrip()}\n{fence}{ending}")


def _ending(ended: TerminalView | None) -> str:
    if ended is None or ended.exit_code == 0:
        return ""
    if ended.timed_out:
        return "\n\nTimed out."
    return f"\n\nEnded by {ended.signal}." if ended.signal else f"\n\nExit code {ended.exit_code}."


def _backtick_runs(text: str) -> Iterator[str]:
    run = ""
    for character in text:
        if character == "`":
            run += character
        elif run:
            yield run
            run = ""
    yield run


def _diffs(view: View | None) -> tuple[DiffView, ...]:
    if isinstance(view, DiffView):
        return (view,)
    return view.files if isinstance(view, DiffsView) else ()


def _changes(file: DiffView, cwd: str) -> Iterator[ShownDiff]:
    """Each changed part of a file by itself: editors count the lines of what they get."""
    path = posixpath.join(cwd, file.path)
    for hunk in file.hunks:
        old, new = _side(hunk, "remove"), _side(hunk, "add")
        yield ShownDiff(path=path, old_text=None if file.is_new else old, new_text=new)


def _side(hunk: DiffHunk, changed: str) -> str:
    return "".join(f"{line.text}\n" for line in hunk.lines if line.kind in ("context", changed))
