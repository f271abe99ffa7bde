"""Views, asks and outcomes of commands as data for the page: every text visible, diffs with coloured lines."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from robota.clients.web.code_html import file_lines_html
from robota.clients.web.markdown_html import blocks_of
from robota.protocol.asks.ask import ApprovalAsk, Ask, PlanAsk
from robota.protocol.unified_diff import files_in, paths_in
from robota.protocol.views import DiffHunk, DiffsView, DiffView, TerminalView, TextView, View
from robota.text.visible import visible

# The rest of a longer text can be fetched by itself.
MAX_TEXT: Final = 100_000
TEXT_END: Final = 20_000
# Longer prose is shown as it is: the time for Markdown that somebody contrived grows with the square of its length.
MAX_PROSE: Final = 40_000
# Of all diffs of a view; what comes after them is counted.
MAX_DIFF_LINES: Final = 4_000


def seen(value: Any) -> Any:
    """Protocol data as JSON in which every text is visible."""
    return _visible(msgspec.to_builtins(value))


def view_data(view: View) -> dict[str, Any]:
    """A view. A diff has its lines as `[sign, old number, new number, html]`."""
    match view:
        case DiffView():
            return _diff(view, MAX_DIFF_LINES)
        case DiffsView():
            left, files = MAX_DIFF_LINES, []
            for file in view.files:
                files.append(_diff(file, left))
                left = max(0, left - sum(len(hunk.lines) for hunk in file.hunks))
            return {"kind": "diffs", "files": files}
        case TextView(is_markdown=True) if len(view.text) <= MAX_PROSE:
            return {"kind": "prose", "blocks": blocks_of(view.text)}
        case TerminalView() | TextView():
            data: dict[str, Any] = seen(view)
            for name in ("text", "output", "command"):
                if isinstance(text := data.get(name), str):
                    data[name] = shortened(text)
            return data
        case _:
            other: dict[str, Any] = seen(view)
            return other


def ask_data(asked: Ask) -> dict[str, Any]:
    """An ask with its view."""
    if isinstance(asked, ApprovalAsk):
        changed = tuple(view_data(file) for file in asked.verdict.changed)
        plain: dict[str, Any] = seen(msgspec.structs.replace(asked, view=None, verdict=_without_changes(asked)))
        plain["verdict"]["changed"] = changed
        plain["verdict"]["suggestions"] = [
            {"rules": offer.rules, "shown": visible(offer.shown), "covers": visible(offer.covers)}
            for offer in asked.verdict.suggestions
        ]
        if asked.editable is not None:  # what is sent back must be what was there
            plain["editable"] = msgspec.to_builtins(asked.editable)
        return {**plain, "view": None if asked.view is None else view_data(asked.view)}
    data: dict[str, Any] = seen(asked)
    if isinstance(asked, PlanAsk):
        return {**data, "blocks": blocks_of(asked.plan), "plan": asked.plan}
    return data


def unified_diff_data(diff: str) -> dict[str, Any]:
    """A unified diff as a view of all its files."""
    data = view_data(DiffsView(files=files_in(diff)))
    for file, name in zip(data["files"], paths_in(diff), strict=True):
        file["name"] = name  # as a request names it
    return data


def shortened(text: str) -> str:
    """The beginning and the end of a text that is too long for a page."""
    if len(text) <= MAX_TEXT:
        return text
    left_out = len(text) - MAX_TEXT
    return f"{text[: MAX_TEXT - TEXT_END]}\n… {left_out:,} characters are not shown …\n{text[-TEXT_END:]}"


def _without_changes(asked: ApprovalAsk) -> Any:
    return msgspec.structs.replace(asked.verdict, changed=(), suggestions=())


def _diff(view: DiffView, most: int) -> dict[str, Any]:
    hunks, left = [], most
    for hunk in view.hunks:
        hunks.append(_hunk(hunk, view.path, left))
        left = max(0, left - len(hunk.lines))
    return {
        "kind": "diff",
        "path": visible(view.path),
        "added": view.added,
        "removed": view.removed,
        "isNew": view.is_new,
        "hunks": hunks,
    }


def _hunk(hunk: DiffHunk, path: str, most: int) -> dict[str, Any]:
    shown = hunk.lines[:most]
    coloured = file_lines_html([visible(line.text) for line in shown], path)
    return {
        "head": f"-{hunk.old_start},{hunk.old_count} +{hunk.new_start},{hunk.new_count}",
        "lines": [
            [SIGNS.get(line.kind, " "), line.old_line, line.new_line, html]
            for line, html in zip(shown, coloured, strict=True)
        ],
        "leftOut": len(hunk.lines) - len(shown),
    }


def _visible(node: Any) -> Any:
    match node:
        case str():
            return visible(node)
        case Mapping():
            return {visible(key): _visible(value) for key, value in node.items()}
        case list() | tuple():
            return [_visible(item) for item in node]
        case _:
            return node


SIGNS: Final = {"add": "+", "remove": "-", "context": " "}
