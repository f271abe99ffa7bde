"""Questions of the agent as `can_use_tool` requests, and the answers of the program."""

from collections.abc import Callable, Sequence
from typing import Any, Final, assert_never

import msgspec

from robota.clients.headless.options import ShowCall, ShownCall
from robota.protocol.asks.answer import Answer, Approve, ApproveInput, GrantScope, Reject, Say
from robota.protocol.asks.ask import (
    ApprovalAsk,
    ApprovalVerdict,
    CallSubject,
    FilesLeftBehind,
    QuestionAsk,
    UnseenLines,
    without_digest,
)
from robota.protocol.conversation import ToolUseBlock

ASK_USER: Final = "AskUserQuestion"
SCOPES: Final = {
    "session": GrantScope.SESSION,
    "localSettings": GrantScope.PROJECT,
    "projectSettings": GrantScope.PROJECT,
    "userSettings": GrantScope.USER,
}
MAX_HEADER: Final = 12
UNSEEN_LINES: Final = "ApproveUnseenLines"
KEPT_FILES: Final = "KeepFilesOfCommand"
Subject = CallSubject | UnseenLines | FilesLeftBehind

# Translates the arguments that the program returned to the names of our tools.
ReadInput = Callable[[str, dict[str, Any]], dict[str, Any]]


class PermissionAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What the program decided: the answer to the ask, a mode to switch to, and whether to stop the task."""

    answer: Answer | None
    mode: str | None = None
    interrupts: bool = False


def approved_call(subject: Subject, call: ToolUseBlock) -> ToolUseBlock:
    """The call that an approval would let run, which may not be the one that the model wrote."""
    if isinstance(subject, CallSubject) and subject.tool:
        return msgspec.structs.replace(call, name=subject.tool, input=subject.input)
    return call


def shown_subject(subject: Subject, call: ToolUseBlock, show_call: ShowCall) -> ShownCall:
    """The subject of an approval as tool and input, by which programs decide.

    Other subjects than calls have tool names of their own, so that a program that allows calls does not allow them by
    mistake.
    """
    match subject:
        case CallSubject():
            return show_call(call.name, call.input)
        case UnseenLines(lines=lines):
            return ShownCall(tool=UNSEEN_LINES, input={"lines": lines})
        case FilesLeftBehind(paths=paths):
            return ShownCall(tool=KEPT_FILES, input={"paths": list(paths)})
        case _:
            assert_never(subject)


def approval_request(asked: ApprovalAsk, call_id: str, shown: ShownCall) -> dict[str, Any]:
    """The fields of the request for approval."""
    reason = {} if not asked.verdict.reason else {"decision_reason": asked.verdict.reason}
    warnings = {} if not asked.verdict.warnings else {"description": "\n".join(asked.verdict.warnings)}
    return {
        "tool_name": shown.tool,
        "input": shown.input,
        "tool_use_id": call_id,
        "title": asked.title,
        "display_name": shown.tool,
        "permission_suggestions": _suggestions(asked.verdict),
        "decision_reason_type": "rule" if asked.verdict.rule is not None else "other",
        **reason,
        **warnings,
    }


def approval_answer(
    response: dict[str, Any], asked: ApprovalAsk, call: ToolUseBlock, shown: ShownCall, read_input: ReadInput
) -> PermissionAnswer:
    """The program's decision about a call. Anything that is not clearly a yes is a no."""
    interrupts = response.get("interrupt") is True
    if response.get("behavior") != "allow":
        why = response.get("message")
        return PermissionAnswer(answer=Reject(text=why if isinstance(why, str) else ""), interrupts=interrupts)
    updates = response.get("updatedPermissions")
    updates = [each for each in updates if isinstance(each, dict)] if isinstance(updates, list) else []
    mode = next((each["mode"] for each in updates if each.get("type") == "setMode" and "mode" in each), None)
    updated = response.get("updatedInput")
    if isinstance(updated, dict) and updated != shown.input and isinstance(asked.subject, CallSubject):
        # The changed call is judged by the policy again.
        return PermissionAnswer(answer=ApproveInput(input=read_input(call.name, updated)), mode=mode)
    rules, scope = _granted(updates, asked.verdict)
    return PermissionAnswer(answer=Approve(grant=rules, grant_scope=scope), mode=mode)


def question_request(asked: QuestionAsk, call_id: str) -> dict[str, Any]:
    """The fields of the request that asks the user something."""
    options = [{"label": each.answer, "description": ""} for each in asked.suggestions]
    question = {"question": asked.question, "header": "Question"[:MAX_HEADER], "options": options, "multiSelect": False}
    return {
        "tool_name": ASK_USER,
        "input": {"questions": [question]},
        "tool_use_id": call_id,
        "requires_user_interaction": True,
    }


def question_answer(response: dict[str, Any], asked: QuestionAsk) -> PermissionAnswer:
    """The user's answer; none if the program only allowed the question without asking it."""
    interrupts = response.get("interrupt") is True
    if response.get("behavior") != "allow":
        why = response.get("message")
        return PermissionAnswer(answer=Reject(text=why if isinstance(why, str) else ""), interrupts=interrupts)
    updated = response.get("updatedInput")
    answers = updated.get("answers") if isinstance(updated, dict) else None
    given = answers.get(asked.question) if isinstance(answers, dict) else None
    return PermissionAnswer(answer=Say(text=given) if isinstance(given, str) and given else None)


def _suggestions(verdict: ApprovalVerdict) -> list[dict[str, Any]]:
    return [
        {
            "type": "addRules",
            "rules": [_rule(rule) for rule in offered.rules],
            "behavior": "allow",
            "destination": "session",
        }
        for offered in verdict.suggestions
    ]


def _rule(text: str) -> dict[str, str]:
    tool, _, content = without_digest(text).partition("(")
    return {"toolName": tool, "ruleContent": content.removesuffix(")")} if content else {"toolName": tool}


def _granted(updates: Sequence[dict[str, Any]], verdict: ApprovalVerdict) -> tuple[tuple[str, ...], GrantScope]:
    """The suggested rules that the program accepts, and the widest scope in which it adds them."""
    offered = {without_digest(rule): rule for each in verdict.suggestions for rule in each.rules}
    rules: list[str] = []
    scope = GrantScope.SESSION
    for update in updates:
        if update.get("type") != "addRules" or update.get("behavior") != "allow":
            continue
        written = [_written(each) for each in update.get("rules", ()) if isinstance(each, dict)]
        rules += [offered[rule] for rule in written if rule in offered]
        scope = SCOPES.get(str(update.get("destination")), GrantScope.SESSION)
    return tuple(rules), scope


def _written(rule: dict[str, Any]) -> str:
    content = rule.get("ruleContent")
    return f"{rule.get('toolName')}({content})" if isinstance(content, str) else str(rule.get("toolName"))
