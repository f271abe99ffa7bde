"""A change to one file that has been worked out but not made: shown in the ask, then carried out."""

import msgspec

from robota.contracts.tool import Preview, ToolResult
from robota.text.visible import printable_name
from robota.tools.editing.diff import Difference, difference, difference_by
from robota.tools.say_tool import DiffStats, SayTool, tool_ask
from robota.workspace.files.atomic_write import Content
from robota.workspace.files.files import FileData, Files, Written
from robota.workspace.text.encoding import TextForm, encode
from robota.workspace.text.source import Source, Span
from robota.workspace.text.syntax import syntax_note


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """`over` is the file as it was when the change was worked out, or None if there was none."""

    path: str
    data: Content
    form: TextForm
    difference: Difference
    over: FileData | None = None
    remark: str = ""


def new_file(path: str, content: str) -> Change:
    form = TextForm()
    shown = difference(printable_name(path), None, content)
    return Change(path=path, data=encode(content, form), form=form, difference=shown)


def changed_file(path: str, source: Source, spans: list[Span], remark: str = "") -> Change:
    """The file with some stretches of its text replaced; they must not overlap."""
    spans = [source.trimmed(span) for span in spans]
    return Change(
        path=path,
        data=source.replace_spans(spans),
        form=source.form,
        difference=difference_by(printable_name(path), source.text, source.index, spans),
        over=source.file,
        remark=remark,
    )


def carried_out(change: Change, files: Files) -> ToolResult:
    """Write it and report, unless the file has changed in the meantime."""
    written = files.write(change.path, change.data, over=change.over)
    return ToolResult(content=_report(change, written), view=change.difference.view)


def carried_out_and_checked(change: Change, files: Files) -> ToolResult:
    """The same, and a word to the model if the file parsed before and does not now."""
    result = carried_out(change, files)
    note = syntax_note(change.path, change.over.data if change.over else None, change.data)
    return msgspec.structs.replace(result, content=f"{result.content}\n{note}") if note else result


def asked_about(change: Change, action: str) -> Preview:
    """What a person is shown before; `action` is the seed's word for changing a file that exists."""
    view = change.difference.view
    return tool_ask(
        SayTool(
            tool="newFileCreated" if view.is_new else action,
            path=view.path,
            diff=change.difference.unified,
            diff_stats=DiffStats(added=view.added, removed=view.removed),
        ),
        view,
    )


def _report(change: Change, written: Written) -> str:
    form = change.form
    kept = [f"{form.encoding} encoding"] if form.encoding != "utf-8" else []
    kept += ["byte order mark"] if form.mark else []
    kept += [f"{ENDING_NAMES[form.newline]} line endings"] if form.newline in ENDING_NAMES else []
    notices = ["The file was saved."]
    notices += [f"Kept of the file that was there: {', '.join(kept)}."] if kept else []
    if written.separated_links:
        notices.append("The file had other hard links; they still hold the old content.")
    notices += [change.remark] if change.remark else []
    operation = "created" if written.created else "modified"
    report = {"path": printable_name(change.path), "operation": operation, "notice": " ".join(notices)}
    return msgspec.json.encode(report).decode()


ENDING_NAMES = {"\r\n": "CRLF", "\r": "CR"}
