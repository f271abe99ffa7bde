"""Questions of the agent as requests to an editor, and what the user chose there as answers."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from robota.clients.acp.calls import content_of, kind_of, locations_of, text_content, whole_text
from robota.clients.acp.content import AcpValue
from robota.clients.acp.received import FormResult, PermissionResult
from robota.clients.acp.updates import CallProgress
from robota.protocol.asks.answer import Answer, Approve, ApproveHunks, GrantScope, Reject, Say
from robota.protocol.asks.ask import ApprovalAsk, CallSubject, PlanAsk, QuestionAsk
from robota.protocol.conversation import ToolUseBlock
from robota.protocol.message import Message
from robota.protocol.views import DiffHunk, DiffsView, DiffView
from robota.text.visible import single_line, visible

ALLOW: Final = "allow"
REJECT: Final = "reject"
MAX_RULES: Final = 2
SCOPES: Final = {GrantScope.SESSION: "in this session", GrantScope.PROJECT: "in this project"}
PARTS: Final = "parts"
# Stands for an answer that a form completes; by itself it approves nothing.
CHOOSES_PARTS: Final = ApproveHunks()
MAX_PART: Final = 200
CHOICE: Final = "choice"
OWN_WORDS: Final = "answer"


class PermissionOption(AcpValue, frozen=True, kw_only=True):
    """A button of an approval."""

    option_id: str
    name: str
    kind: str


class AnswerOption(msgspec.Struct, frozen=True, kw_only=True):
    """A button, and the answer that it gives."""

    option: PermissionOption
    answer: Answer


def approval_choices(asked: ApprovalAsk, *, chooses_parts: bool = False) -> tuple[AnswerOption, ...]:
    """Yes, the rules that are offered for the session and the project, and no.

    With `chooses_parts`, the user can also approve single parts of a change, which a form then asks about.
    """
    rules = tuple(
        _choice(
            f"{scope}:{number}",
            f"Always allow {offered.shown} {where}",
            "allow_always",
            Approve(grant=offered.rules, grant_scope=scope),
        )
        for number, offered in enumerate(asked.verdict.suggestions[:MAX_RULES])
        for scope, where in SCOPES.items()
    )
    parts = (_choice(PARTS, "Choose parts…", "allow_once", CHOOSES_PARTS),) if chooses_parts else ()
    return (
        _choice(ALLOW, "Allow", "allow_once", Approve()),
        *parts,
        *rules,
        _choice(REJECT, "Reject", "reject_once", Reject()),
    )


def plan_choices(asked: PlanAsk) -> tuple[AnswerOption, ...]:
    """Accept the plan in one of the ways that are suggested, or go on planning."""
    ways = tuple(
        _choice(f"{ALLOW}:{number}", each.answer, "allow_once", Say(text=each.answer))
        for number, each in enumerate(asked.suggestions)
    )
    return (*ways, _choice(REJECT, "Keep planning", "reject_once", Reject()))


def chosen(choices: tuple[AnswerOption, ...], result: Any) -> Answer:
    """The answer that the user chose. Whatever is not clearly a yes is a no."""
    try:
        outcome = msgspec.convert(result, PermissionResult).outcome
    except msgspec.ValidationError:
        return Reject()
    if outcome.outcome != "selected":
        return Reject()
    return next((each.answer for each in choices if each.option.option_id == outcome.option_id), Reject())


def call_of_approval(row: Message, asked: ApprovalAsk, call: ToolUseBlock | None, cwd: str) -> CallProgress:
    """The call that needs approval, with everything by which the user decides."""
    subject = asked.subject
    is_other = isinstance(subject, CallSubject) and bool(subject.tool)
    arguments = subject.input if isinstance(subject, CallSubject) and is_other else None if call is None else call.input
    changes = content_of(asked.view, cwd) if isinstance(asked.view, DiffView | DiffsView) else ()
    # The title is shortened, and editors need not show the arguments: the content has everything.
    content = changes or ((whole_text(asked.view),) if asked.view is not None else ())
    told = (asked.verdict.reason, *asked.verdict.warnings, _other_call(arguments) if is_other else "")
    reason = visible("\n\n".join(filter(None, told)))
    return CallProgress(
        tool_call_id=row.call_id or str(row.ts),
        title=single_line(visible(asked.title)),
        kind=kind_of(asked.title),
        status="pending",
        content=(text_content(reason), *content) if reason else content,
        locations=locations_of(arguments or {}, asked.view, cwd),
        raw_input=arguments,
    )


def _other_call(arguments: Mapping[str, Any] | None) -> str:
    """That the call is not the one that the model wrote, with what it has become."""
    written = "\n".join(f"{name}: {value}" for name, value in (arguments or {}).items())
    return f"This is another call than the one above. It would run with:\n{written}"


def call_of_plan(row: Message, asked: PlanAsk) -> CallProgress:
    """A plan that is to be accepted, as a call: approvals can show nothing else."""
    return CallProgress(
        tool_call_id=row.call_id or str(row.ts),
        title="Carry out this plan?",
        kind="switch_mode",
        status="pending",
        content=(text_content(visible(asked.plan)),),
    )


def form_of(asked: QuestionAsk) -> dict[str, Any]:
    """A question as the schema of a form: one of the suggestions, or own words."""
    words = {OWN_WORDS: {"type": "string", "title": "Answer"}}
    if not asked.suggestions:
        return {"type": "object", "properties": words, "required": [OWN_WORDS]}
    options = [{"const": each.answer, "title": each.answer} for each in asked.suggestions]
    choice = {CHOICE: {"type": "string", "title": "Choose", "oneOf": options}}
    return {"type": "object", "properties": {**choice, OWN_WORDS: {"type": "string", "title": "Or in your words"}}}


def form_answer(result: Any) -> Answer | None:
    """The answer in a form; None if the user gave none."""
    try:
        given = msgspec.convert(result, FormResult)
    except msgspec.ValidationError:
        return None
    content = given.content or {}
    words = next((value for name in (OWN_WORDS, CHOICE) if isinstance(value := content.get(name), str) and value), "")
    return Say(text=words) if given.action == "accept" and words.strip() else None


def parts_form(asked: ApprovalAsk) -> dict[str, Any]:
    """The parts of a change as the schema of a form: each can be left out."""
    view = asked.view
    assert isinstance(view, DiffView), "only the parts of one file can be chosen"
    parts = {
        f"{PARTS}{number}": {
            "type": "boolean",
            "title": f"Lines {hunk.new_start} to {hunk.new_start + max(hunk.new_count, 1) - 1}",
            "description": single_line(visible(_changed_words(hunk)), MAX_PART),
            "default": True,
        }
        for number, hunk in enumerate(view.hunks)
    }
    return {"type": "object", "properties": parts}


def parts_answer(result: Any, asked: ApprovalAsk) -> Answer:
    """The parts that the user approved. Whatever is not clearly a yes is a no."""
    try:
        given = msgspec.convert(result, FormResult)
    except msgspec.ValidationError:
        return Reject()
    content = given.content or {}
    hunks = tuple(number for number in range(asked.choosable_hunks) if content.get(f"{PARTS}{number}") is True)
    return ApproveHunks(hunks=hunks) if given.action == "accept" and hunks else Reject()


def _changed_words(hunk: DiffHunk) -> str:
    signs = {"add": "+", "remove": "-"}
    return " ".join(f"{signs[line.kind]}{line.text.strip()}" for line in hunk.lines if line.kind in signs)


def question_text(asked: QuestionAsk) -> str:
    """A question as text, for editors without forms; the next prompt answers it."""
    return "\n".join(
        (asked.question, *(f"{number}. {each.answer}" for number, each in enumerate(asked.suggestions, 1)))
    )


def _choice(option_id: str, name: str, kind: str, answer: Answer) -> AnswerOption:
    return AnswerOption(option=PermissionOption(option_id=option_id, name=name, kind=kind), answer=answer)
