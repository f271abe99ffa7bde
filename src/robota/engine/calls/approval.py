"""The approval of a call: what a person is shown, and what their answer makes of it."""

from typing import Any, Final

import msgspec

from robota.contracts.tool import AnyTool, Preview, ToolCall
from robota.contracts.verdict import Verdict
from robota.engine.calls.answer_changes import ChangedInput, ChosenHunks, with_hunks
from robota.engine.calls.call_stopped import CallStopped, denied
from robota.engine.session.asks import Answer
from robota.engine.task.runtime import TaskRuntime
from robota.protocol.events import Notice
from robota.protocol.views import DiffView
from robota.text.visible import visible_with_warnings
from robota.workspace.problems import FileProblem
from robota.workspace.text.source import read_source

WRITER: Final = "write_to_file"
NEW_FILE_IS_ONE_PIECE: Final = "The user did not approve the new file as it is. Write it differently, or ask."
REJECTED: Final = "Skipped, because the user rejected an earlier call of this reply."


class ApprovedCall(msgspec.Struct, frozen=True):
    """The call may run as it is; `feedback` is what the person said along with the approval."""

    feedback: str = ""


class ChangedCall(msgspec.Struct, frozen=True, kw_only=True):
    """Another call was approved instead. It has to pass the stages again; `note` tells the model what ran."""

    tool: str
    input: dict[str, Any]
    note: str


class Approval:
    """Asks a person about a call that policy does not decide alone."""

    def __init__(self, runtime: TaskRuntime) -> None:
        self._runtime = runtime

    async def ask(
        self, tool: AnyTool, call: ToolCall, preview: Preview, verdict: Verdict
    ) -> ApprovedCall | ChangedCall:
        """Ask. A no stops the call, and what was planned after it in the same reply."""
        shown = visible_with_warnings(preview.text)
        text = shown.text if preview.ask == "command" else preview.text
        why = _explained(verdict, shown.warnings)
        answer = await self._runtime.ask(preview.ask, text, call_id=call.id, verdict=why)
        if isinstance(answer.wish, ChangedInput):
            return _changed(tool.name, answer.wish.input)
        if isinstance(answer.wish, ChosenHunks) and isinstance(preview.view, DiffView):
            return self._with_chosen_hunks(preview.view, answer.wish)
        if answer.has_words:
            self._runtime.rows.say("user_feedback", answer.text, images=answer.images or None)
        if answer.is_yes:
            self._grant(answer, verdict)
            return ApprovedCall(answer.text)
        said = denied(feedback=answer.text) if answer.text else denied(message="The user denied this operation.")
        raise CallStopped("denied", "The user said no.", said, closes_reply=REJECTED)

    def _grant(self, answer: Answer, verdict: Verdict) -> None:
        """Let such calls run from now on. Only rules that were offered count: a client cannot make up wider ones."""
        offered = {rule for suggestion in verdict.suggestions for rule in suggestion.rules}
        rules = [rule for rule in answer.grant if rule in offered]
        if not rules:
            return
        self._runtime.grants.extend(rules)
        if answer.grant_scope != "session":
            problem = self._runtime.services.policy.remember(answer.grant_scope, rules)
            if problem:
                self._runtime.bus.emit(Notice(level="warning", text=problem))

    def _with_chosen_hunks(self, view: DiffView, chosen: ChosenHunks) -> ChangedCall:
        """The person wants only some of the changes: the file is written with those and no others."""
        files = self._runtime.services.files
        if view.is_new:
            raise CallStopped("denied", "The user chose hunks of a new file.", denied(message=NEW_FILE_IS_ONE_PIECE))
        try:
            source = read_source(files, view.path)
        except FileProblem as problem:
            raise CallStopped("error", str(problem)) from problem
        files.note_read(source.file)
        lines = with_hunks(source.lines, view, chosen.hunks)
        ending = "\n" if source.text.endswith("\n") else ""
        kept = sum(number in chosen.hunks for number in range(len(view.hunks)))
        return ChangedCall(
            tool=WRITER,
            input={"path": view.path, "content": "\n".join(lines) + ending},
            note=f"The user approved {kept} of {len(view.hunks)} hunks; only those were written. Read the file again.",
        )


def _changed(tool: str, changed: dict[str, Any]) -> ChangedCall:
    shown = msgspec.json.encode(changed).decode()
    note = f"The user changed the input before approving. What ran is {tool} with {shown}"
    return ChangedCall(tool=tool, input=changed, note=note)


def _explained(verdict: Verdict, warnings: tuple[str, ...]) -> dict[str, Any]:
    """Why it is asked, and which rules would stop the asking."""
    told: dict[str, Any] = msgspec.to_builtins(verdict)
    return {name: told[name] for name in ("reason", "rule", "parts", "suggestions")} | {"warnings": list(warnings)}
