"""The approval of a call: what a person is shown, and what their answer makes of it."""

from typing import Any, Final

import msgspec

from robota.contracts.tool import REPORTED_TO_MODEL, AnyTool, Prepared, ToolCall
from robota.contracts.verdict import Verdict
from robota.engine.calls.answer_changes import ChangedInput, ChosenHunks
from robota.engine.calls.call_stopped import CallStopped, denied
from robota.engine.session.asks import Answer
from robota.engine.task.runtime import TaskRuntime
from robota.protocol.events import Notice
from robota.protocol.views import DiffView
from robota.text.visible import visible_with_warnings

ONE_PIECE: Final = "The user did not approve the file as it is. Write it differently, or ask."
REJECTED: Final = "Skipped, because the user rejected an earlier call of this reply."


class ApprovedCall(msgspec.Struct, frozen=True, kw_only=True):
    """The call may run as it was prepared; `feedback` is what the person said along with the approval."""

    prepared: Prepared
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
        self, tool: AnyTool, call: ToolCall, prepared: Prepared, verdict: Verdict
    ) -> ApprovedCall | ChangedCall:
        """Ask. A no stops the call, and what was planned after it in the same reply."""
        preview = prepared.preview
        shown = visible_with_warnings(preview.text)
        text = shown.text if preview.ask == "command" else preview.text
        why = _explained(verdict, shown.warnings)
        answer = await self._runtime.ask(preview.ask, text, call_id=call.id, verdict=why)
        if isinstance(answer.wish, ChangedInput):
            return _changed(tool.name, answer.wish.input)
        if isinstance(answer.wish, ChosenHunks) and isinstance(preview.view, DiffView):
            return _with_chosen_hunks(prepared, preview.view, answer.wish)
        if answer.has_words:
            self._runtime.rows.say("user_feedback", answer.text, images=answer.images or None)
        if answer.is_yes:
            self._grant(answer, verdict)
            return ApprovedCall(prepared=prepared, feedback=answer.text)
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


def _with_chosen_hunks(prepared: Prepared, view: DiffView, chosen: ChosenHunks) -> ApprovedCall:
    """The person wants only some of the changes: the file is written with those and no others."""
    if prepared.with_hunks is None:
        raise CallStopped("denied", "The user chose hunks of a change that has none.", denied(message=ONE_PIECE))
    kept = sum(number in chosen.hunks for number in range(len(view.hunks)))
    note = f"The user approved {kept} of {len(view.hunks)} hunks; only those were written. Read the file again."
    try:
        return ApprovedCall(prepared=prepared.with_hunks(chosen.hunks), feedback=note)
    except REPORTED_TO_MODEL as error:
        raise CallStopped("error", str(error)) from error


def _changed(tool: str, changed: dict[str, Any]) -> ChangedCall:
    shown = msgspec.json.encode(changed).decode()
    note = f"The user changed the input before approving. What ran is {tool} with {shown}"
    return ChangedCall(tool=tool, input=changed, note=note)


def _explained(verdict: Verdict, warnings: tuple[str, ...]) -> dict[str, Any]:
    """Why it is asked, and which rules would stop the asking."""
    told: dict[str, Any] = msgspec.to_builtins(verdict)
    return {name: told[name] for name in ("reason", "rule", "parts", "suggestions")} | {"warnings": list(warnings)}
