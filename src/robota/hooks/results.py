"""Reading the result of a hook from its exit code and output, and merging the results of several hooks."""

import json
import re
from collections.abc import Iterable
from typing import Any, Final

from robota.contracts.hook import HookEvent, HookResult
from robota.text.visible import with_whole_characters
from robota.workspace.process.filter_process import FilterOutcome

BLOCKING_EXIT: Final = 2
NO_REASON_GIVEN: Final = "A hook denied it."

# Plain output goes to the model only at these events.
PLAIN_OUTPUT_IS_CONTEXT: Final = frozenset(
    {HookEvent.SESSION_START, HookEvent.USER_PROMPT_SUBMIT, HookEvent.USER_PROMPT_EXPANSION}
)
# Events that exit code 2 cannot block: they come too late, or need a JSON decision.
CANNOT_BLOCK: Final = frozenset(
    {
        HookEvent.SESSION_START,
        HookEvent.SESSION_END,
        HookEvent.NOTIFICATION,
        HookEvent.SUBAGENT_START,
        HookEvent.WORKTREE_REMOVE,
        HookEvent.PERMISSION_REQUEST,
    }
)
# In Claude Code "defer" puts the whole session off, so it stands above "ask". Here it means no decision, and must not
# take back the question of another hook.
STRICTEST_FIRST: Final = ("deny", "ask", "defer", "allow")


class HookFailed(Exception):
    """A hook gave no decision, because of a crash, a time-out or unreadable output. The message says which."""


class HookRefused(HookFailed):
    """A hook was not run, because the user has not agreed to the files of the workspace that it runs."""


def parse_command_result(event: HookEvent, process: FilterOutcome) -> HookResult:
    """The result of a command; raises `HookFailed` if it gave none."""
    if process.exit_code == BLOCKING_EXIT:
        return _blocking_exit(event, process.stderr.strip())
    output = _without_announcement(process.stdout.strip())
    if event is HookEvent.WORKTREE_CREATE:
        return _worktree_result(process, output)
    if output.startswith("{"):
        return parse_result_text(event, output)
    if process.exit_code != 0:
        raise HookFailed(_how_it_ended(process))
    return HookResult(context=output) if event in PLAIN_OUTPUT_IS_CONTEXT else HookResult()


def _without_announcement(output: str) -> str:
    """The output after a first line `{"async": true}`, with which a hook says that it will take its time."""
    first, _, rest = output.partition("\n")
    try:
        is_announcement = first.startswith("{") and json.loads(first).get("async") is True
    except (ValueError, RecursionError):
        return output
    return rest.strip() if is_announcement else output


def parse_result_text(event: HookEvent, text: str) -> HookResult:
    """The result in JSON, the same for commands and HTTP handlers; raises `HookFailed`. No text is an empty result."""
    if not text.strip():
        return HookResult()
    try:
        # JSON can contain a lone surrogate, which neither the log nor the system can encode.
        answer = with_whole_characters(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise HookFailed("its output is not valid JSON") from error
    if not isinstance(answer, dict):
        raise HookFailed("its output is not a JSON object")
    return parse_result(event, answer)


def parse_result(event: HookEvent, answer: dict[str, Any]) -> HookResult:
    """The result from the JSON object of a hook."""
    special = answer.get("hookSpecificOutput")
    special = special if isinstance(special, dict) else {}
    if special.get("hookEventName") not in (None, event):
        raise HookFailed(f"its answer is for {special['hookEventName']!r}")
    decision, reason, updated = _decision(event, answer, special)
    blocked = (_string(answer.get("reason")) or NO_REASON_GIVEN) if answer.get("decision") == "block" else None
    stopped = None
    if answer.get("continue") is False or _interrupts(event, special):
        stopped = _string(answer.get("stopReason")) or reason or _string(answer.get("reason")) or "It gave no reason."
    message = _string(answer.get("systemMessage"))
    return HookResult(
        blocked=None if event in CANNOT_BLOCK else blocked,
        stopped=stopped,
        context=_string(special.get("additionalContext")),
        decision=decision,
        reason=reason,
        updated_input=updated,
        updated_output=_updated_output(special) if event is HookEvent.POST_TOOL_USE else None,
        messages=(message,) if message else (),
        output=_string(special.get("worktreePath")),
    )


def parse_verdict(event: HookEvent, answer: str) -> HookResult:
    """The result in the answer of a model: `{"ok": true}`, or `{"ok": false, "reason": "…"}`. Raises `HookFailed`."""
    match = re.search(r"\{.*\}", answer, re.DOTALL)
    try:
        verdict = with_whole_characters(json.loads(match[0])) if match is not None else None
    except (ValueError, RecursionError):
        verdict = None
    if not isinstance(verdict, dict) or not isinstance(verdict.get("ok"), bool):
        raise HookFailed("the model did not answer with the JSON that was asked for")
    if verdict["ok"]:
        return HookResult()
    reason = _string(verdict.get("reason")) or NO_REASON_GIVEN
    if event is HookEvent.PERMISSION_REQUEST:
        return HookResult(decision="deny", reason=reason)
    return HookResult(messages=(reason,)) if event in CANNOT_BLOCK else HookResult(blocked=reason)


def merge_results(results: Iterable[HookResult]) -> HookResult:
    """Merge results: the strictest decision wins, texts are joined, the last updated input wins."""
    all_results = list(results)
    decisive = next((r for word in STRICTEST_FIRST for r in all_results if r.decision == word), HookResult())
    updated = (r.updated_input for r in reversed(all_results) if r.updated_input is not None)
    return HookResult(
        blocked=next((r.blocked for r in all_results if r.blocked is not None), None),
        stopped=next((r.stopped for r in all_results if r.stopped is not None), None),
        context="\n".join(r.context for r in all_results if r.context),
        decision=decisive.decision,
        reason=decisive.reason,
        updated_input=None if decisive.decision == "deny" else next(updated, None),
        updated_output=next((r.updated_output for r in reversed(all_results) if r.updated_output is not None), None),
        messages=tuple(message for r in all_results for message in r.messages),
        output="\n".join(r.output for r in all_results if r.output),
    )


def failed_closed(event: HookEvent, reason: str) -> HookResult:
    """The result of a hook with `failClosed` that gave none: it blocks."""
    if event is HookEvent.PERMISSION_REQUEST:
        return HookResult(decision="deny", reason=reason)
    return HookResult(messages=(reason,)) if event in CANNOT_BLOCK else HookResult(blocked=reason)


Decided = tuple[str | None, str, dict[str, Any] | None]


def _decision(event: HookEvent, answer: dict[str, Any], special: dict[str, Any]) -> Decided:
    """The decision of a hook about a call, its reason, and the updated input."""
    if event is HookEvent.PERMISSION_REQUEST:
        decision = special.get("decision")
        decision = decision if isinstance(decision, dict) else {}
        word, reason = decision.get("behavior"), _string(decision.get("message"))
        allowed_values: tuple[str, ...] = ("allow", "deny")
    elif event is HookEvent.PRE_TOOL_USE:
        decision, allowed_values = special, STRICTEST_FIRST
        word = special.get("permissionDecision")
        reason = _string(special.get("permissionDecisionReason")) or _string(answer.get("reason"))
        if word is None and answer.get("decision") == "approve":
            word = "allow"
    else:
        return None, "", None
    updated = decision.get("updatedInput")
    return (word if word in allowed_values else None), reason, (updated if isinstance(updated, dict) else None)


def _interrupts(event: HookEvent, special: dict[str, Any]) -> bool:
    """Whether a permission denial also ends the task."""
    decision = special.get("decision")
    if event is not HookEvent.PERMISSION_REQUEST or not isinstance(decision, dict):
        return False
    return decision.get("behavior") == "deny" and decision.get("interrupt") is True


def _updated_output(special: dict[str, Any]) -> str | None:
    """The tool result with which a hook replaces the real one: a `tool_response` object or plain text."""
    output = special.get("updatedToolOutput")
    if isinstance(output, dict):
        output = output.get("content")
    return output if isinstance(output, str) else None


def _blocking_exit(event: HookEvent, reason: str) -> HookResult:
    if event in CANNOT_BLOCK:
        return HookResult(messages=(reason,) if reason else ())
    return HookResult(blocked=reason or NO_REASON_GIVEN)


def _worktree_result(process: FilterOutcome, output: str) -> HookResult:
    """The result of a worktree hook, which must create a directory and print its path."""
    if process.exit_code != 0:
        return HookResult(blocked=process.stderr.strip() or _how_it_ended(process))
    return HookResult(output=output) if output else HookResult(blocked="it printed no path")


def _how_it_ended(process: FilterOutcome) -> str:
    if process.timed_out:
        return "it timed out"
    how = "it was killed by a signal" if process.exit_code is None else f"it exited with code {process.exit_code}"
    last = process.stderr.strip().rpartition("\n")[2]
    return f"{how}: {last[:200]}" if last else how


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""
