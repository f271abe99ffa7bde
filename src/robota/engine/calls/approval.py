"""Asks the user to approve a call, and turns the answer into a call that may run, a changed call or a denial."""

from collections.abc import Iterable
from typing import Any, Final, assert_never

import msgspec

from robota.contracts.tool import REPORTED_TO_MODEL, AnyTool, Prepared, ToolCall, Unseen, call_title
from robota.contracts.verdict import Verdict
from robota.engine.calls.call_stopped import CallStopped, NextStep, denied, describe
from robota.engine.runtime.task_runtime import TaskRuntime
from robota.protocol.asks.answer import (
    Answer,
    Approve,
    ApproveEdited,
    ApproveHunks,
    ApproveInput,
    Reject,
    Say,
)
from robota.protocol.asks.ask import (
    ApprovalAsk,
    ApprovalVerdict,
    CallSubject,
    EditableField,
    JudgedPart,
    OfferedRules,
    UnseenLines,
)
from robota.protocol.asks.seed import SeedAsk, view_in
from robota.protocol.conversation import AssistantTurn, ImageSource, ToolUseBlock, image_blocks
from robota.protocol.events import Notice
from robota.protocol.views import DiffView, FieldsView, TextView, View
from robota.text.visible import visible_with_warnings

# A longer title may be cut in the frame of a card.
WHOLE_TITLE: Final = 60
ONE_PIECE: Final = "the change was not approved in this form."
REJECTED_BY_USER: Final = "this call was rejected without a comment."
REJECTED: Final = (
    "Not run, because the user rejected an earlier call of this reply. Make the call again if it is still right."
)


class ApprovedCall(msgspec.Struct, frozen=True, kw_only=True):
    """The call may run as prepared. `feedback` is what the model must know of the approval; `images` come with it."""

    prepared: Prepared
    feedback: str = ""
    images: tuple[ImageSource, ...] = ()


class ChangedCall(msgspec.Struct, frozen=True, kw_only=True):
    """The user approved another input instead. It passes the stages again; `note` tells the model what it is."""

    tool: str
    input: dict[str, Any]
    note: str
    images: tuple[ImageSource, ...] = ()


class Approval:
    """Asks the user about calls for which policy's verdict is to ask."""

    def __init__(self, runtime: TaskRuntime) -> None:
        self._runtime = runtime

    async def ask(
        self, tool: AnyTool, call: ToolCall, prepared: Prepared, verdict: Verdict, refusal: str
    ) -> ApprovedCall | ChangedCall:
        """Ask the user. A rejection raises `CallStopped` and skips the rest of the reply; the model gets `refusal`."""
        preview, title = prepared.preview, call_title(tool, call.name, call.input)
        shown = visible_with_warnings(preview.text)
        is_command = preview.ask == "command"
        seed = SeedAsk(preview.ask, shown.text if is_command else preview.text)
        asked = ApprovalAsk(
            title=title,
            subject=self._subject(call),
            view=_without_title(view_in(seed) if is_command or preview.view is None else preview.view, title),
            verdict=_explained(verdict, shown.warnings),
            editable=_editable(tool, call),
            choosable_hunks=_choosable_hunks(prepared),
        )
        answer = await self._runtime.ask(asked, seed=seed, call_id=call.id)
        match answer:
            case Approve():
                self._show_feedback(answer)
                if preview.unseen is not None:
                    await self._ask_about_hidden_lines(preview.unseen, call, title)
                grant(self._runtime, answer, (each.rules for each in verdict.suggestions))
                feedback = f"Approved by the user: {answer.text}" if answer.text else ""
                return ApprovedCall(prepared=prepared, feedback=feedback, images=_images_in(answer))
            case ApproveEdited():
                changed = {asked.editable.name: answer.edited} if asked.editable is not None else {}
                return _changed(tool.name, {**call.input, **changed}, answer)
            case ApproveInput():
                return _changed(tool.name, answer.input, answer)
            case ApproveHunks():
                return _with_chosen_hunks(prepared, answer)
            case Reject() | Say():
                raise self._stopped(answer, refusal)
            case never:
                assert_never(never)

    async def _ask_about_hidden_lines(self, unseen: Unseen, call: ToolCall, title: str) -> None:
        """Ask separately about lines that were too many to show, and say where the whole change can be read."""
        name = self._runtime.journal.keep(unseen.whole())
        where = "" if name is None else f" The complete change is in {self._runtime.journal.kept(name)}."
        reason = f"{unseen.lines:,} changed lines were too many to show.{where}"
        asked = ApprovalAsk(
            title=f"{title}: the part that was not shown",
            subject=UnseenLines(lines=unseen.lines),
            view=TextView(text=reason),
            verdict=ApprovalVerdict(reason=reason, rule="unseen"),
        )
        answer = await self._runtime.ask(asked, call_id=call.id)
        if not isinstance(answer, Approve):
            raise self._stopped(answer)
        self._show_feedback(answer)

    def _subject(self, call: ToolCall) -> CallSubject:
        """The call. A client knows what the model wrote, and must see what a hook or a second try has made of it."""
        replies = (turn for turn in reversed(self._runtime.history.turns) if isinstance(turn, AssistantTurn))
        blocks = (block for turn in replies for block in turn.content if isinstance(block, ToolUseBlock))
        written = next((block for block in blocks if block.id == call.id), None)
        is_as_written = written is not None and (written.name, written.input) == (call.name, call.input)
        return CallSubject() if is_as_written else CallSubject(tool=call.name, input=call.input)

    def _stopped(self, answer: Answer, refusal: str = "") -> CallStopped:
        self._show_feedback(answer)
        following = NextStep.WITH_FEEDBACK if answer.text else NextStep.BY_USER
        denial = denied(answer.text or REJECTED_BY_USER, following, "the user") if answer.text or not refusal else ""
        message = "\n".join(part for part in (refusal, denial) if part)
        return CallStopped("denied", "The user rejected it.", message, skips_rest=REJECTED, images=_images_in(answer))

    def _show_feedback(self, answer: Answer) -> None:
        if answer.has_words:
            self._runtime.rows.say("user_feedback", answer.text, images=answer.images or None)


def grant(runtime: TaskRuntime, answer: Approve, offered: Iterable[tuple[str, ...]]) -> None:
    """Grant the rules chosen with the approval. Only offered rules count: a client cannot make up wider ones."""
    all_offered = {rule for rules in offered for rule in rules}
    rules = [rule for rule in answer.grant if rule in all_offered]
    if not rules:
        return
    runtime.grants.extend(rules)
    problem = _saved(runtime, answer, rules)
    if problem:
        runtime.bus.emit(Notice(level="warning", text=problem))


def _saved(runtime: TaskRuntime, answer: Approve, rules: list[str]) -> str:
    """Note the rules, or save them; returns what went wrong. They hold for the session in any case."""
    try:
        return runtime.services.policy.remember(answer.grant_scope, rules)
    except Exception as error:  # noqa: BLE001 - what was approved is approved
        return f"The rules apply to this session but could not be saved: {describe(error)}"


def _with_chosen_hunks(prepared: Prepared, answer: ApproveHunks) -> ApprovedCall:
    """The call with only the hunks that the user chose."""
    view, chosen = prepared.preview.view, answer.hunks
    if prepared.with_hunks is None or not isinstance(view, DiffView):
        message = denied(ONE_PIECE, NextStep.BY_USER, "the user")
        raise CallStopped("denied", "The user chose hunks of a change that has no hunks.", message)
    kept = sum(number in chosen for number in range(len(view.hunks)))
    note = f"The user approved {kept} of {len(view.hunks)} hunks; the others are left out. Read the file again."
    try:
        return ApprovedCall(prepared=prepared.with_hunks(chosen), feedback=note, images=_images_in(answer))
    except REPORTED_TO_MODEL as error:
        raise CallStopped("error", str(error)) from error


def _images_in(answer: Answer) -> tuple[ImageSource, ...]:
    return tuple(block.source for block in image_blocks(answer.images))


def _changed(tool: str, changed: dict[str, Any], answer: Answer) -> ChangedCall:
    shown = msgspec.json.encode(changed).decode()
    note = f"The user changed the input before approving it. It is now {shown}"
    return ChangedCall(tool=tool, input=changed, note=note, images=_images_in(answer))


def _editable(tool: AnyTool, call: ToolCall) -> EditableField | None:
    text = None if tool.editable is None else call.input.get(tool.editable)
    return EditableField(name=tool.editable, text=text) if tool.editable and isinstance(text, str) else None


def _without_title(view: View, title: str) -> View | None:
    """The view without what it says twice, or what its title says; a long title may be cut where it is shown."""
    said = title if len(title) <= WHOLE_TITLE else ""
    match view:
        case TextView(text=text) if text in said:
            return None
        case FieldsView(heading="", fields=fields):
            once = {field.text: field for field in reversed(fields)}.values()
            left = tuple(field for field in reversed(once) if field.text not in said)
            return TextView(text=left[0].text) if len(left) == 1 else FieldsView(fields=left) if left else None
        case _:
            return view


def _choosable_hunks(prepared: Prepared) -> int:
    """How many hunks the user can choose from; 0 if there is nothing to choose."""
    view = prepared.preview.view
    count = len(view.hunks) if isinstance(view, DiffView) and prepared.with_hunks is not None else 0
    return count if count > 1 else 0


def _explained(verdict: Verdict, warnings: tuple[str, ...]) -> ApprovalVerdict:
    """The verdict as clients show it: why it is asked, and which rules would stop the question."""
    return ApprovalVerdict(
        reason=verdict.reason,
        rule=verdict.rule,
        parts=tuple(
            JudgedPart(text=part.text, decision=part.decision, reason=part.reason, rule=part.rule)
            for part in verdict.parts
        ),
        suggestions=tuple(OfferedRules(rules=each.rules, covers=each.covers) for each in verdict.suggestions),
        warnings=warnings,
        no_rule=verdict.no_rule if not verdict.suggestions else "",
        changed=verdict.changed,
    )
