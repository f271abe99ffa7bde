"""Write a whole file, new or existing."""

from typing import TYPE_CHECKING, Annotated

import msgspec

from robota.contracts.tool import Effect, Preview, Tool, ToolContext, ToolResult, Touches
from robota.tools.description import description_beside
from robota.tools.printable import printable
from robota.tools.refusal import problems_told_to_model
from robota.tools.say_tool import DiffStats, SayTool, tool_ask
from robota.workspace.files import Files, Written
from robota.workspace.problems import Missing
from robota.workspace.text import Text, TextForm, decode, encode, in_form_of

if TYPE_CHECKING:
    from robota.tools.diff import Difference

MAX_FILE_BYTES = 20 * 1024 * 1024


class WriteToFileParams(msgspec.Struct, frozen=True, kw_only=True):
    path: Annotated[str, msgspec.Meta(description="The file, relative to the workspace. Missing directories are made.")]
    content: Annotated[str, msgspec.Meta(description="The complete content of the file, exactly as it shall be.")]


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A write that has been worked out but not done."""

    data: bytes
    form: TextForm
    difference: "Difference"


async def run(params: WriteToFileParams, context: ToolContext) -> ToolResult:
    with problems_told_to_model():
        draft = _draft(params, context.files)
        written = context.files.write(params.path, draft.data)
    return ToolResult(content=_report(params.path, written, draft.form), view=draft.difference.view)


async def preview(params: WriteToFileParams, context: ToolContext) -> Preview:
    with problems_told_to_model():
        difference = _draft(params, context.files).difference
    view = difference.view
    action = SayTool(
        tool="newFileCreated" if view.is_new else "editedExistingFile",
        path=view.path,
        diff=difference.unified,
        diff_stats=DiffStats(added=view.added, removed=view.removed),
    )
    return tool_ask(action, view)


def touches(params: WriteToFileParams) -> Touches:
    return Touches(paths=(params.path,))


def _draft(params: WriteToFileParams, files: Files) -> Draft:
    # Comparing costs an import that a task without a write need not pay for.
    from robota.tools.diff import difference

    before = _existing(params.path, files)
    form = before.form if before else TextForm()
    content = in_form_of(params.content, form)
    return Draft(
        data=encode(content, form),
        form=form,
        difference=difference(printable(params.path), before.content if before else None, content),
    )


def _existing(path: str, files: Files) -> Text | None:
    try:
        return decode(files.read(path, MAX_FILE_BYTES).data)
    except Missing:
        return None


def _report(path: str, written: Written, form: TextForm) -> str:
    kept = [f"{form.encoding} encoding"] if form.encoding != "utf-8" else []
    kept += ["byte order mark"] if form.mark else []
    kept += ["CRLF line endings"] if form.newline == "\r\n" else []
    notices = [f"Kept of the file that was there: {', '.join(kept)}."] if kept else []
    if written.separated_links:
        notices.append("The file had other hard links; they still hold the old content.")
    operation = "created" if written.created else "modified"
    report = {"path": printable(path), "operation": operation, "notice": " ".join(["The file was saved.", *notices])}
    return msgspec.json.encode(report).decode()


TOOL = Tool(
    name="write_to_file",
    label="Write",
    params=WriteToFileParams,
    description=description_beside(__file__),
    effects=frozenset({Effect.WRITE}),
    run=run,
    touches=touches,
    preview=preview,
    aliases=("write_file",),
)
