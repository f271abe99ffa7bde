"""What a hook said, read from its exit code and output, and what several said together."""

import json
from collections.abc import Iterable
from typing import Any, Final

from robota.contracts.hook import HookEvent, HookResult
from robota.text.surrogate_pairs import with_whole_characters
from robota.workspace.process.filter_process import FilterOutcome

BLOCKING_EXIT: Final = 2
SAID_NO: Final = "A hook said no."

# Plain output is words for the model only at these moments; elsewhere it is a hook's chatter.
PLAIN_OUTPUT_IS_CONTEXT: Final = frozenset({HookEvent.SESSION_START, HookEvent.USER_PROMPT_SUBMIT})
# Where a plain no means nothing: it comes too late, or only a decision in JSON counts.
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


class NoAnswer(Exception):
    """A hook gave no decision: a crash, a time-out, output that cannot be read. The text says which."""


def answer_of_command(moment: HookEvent, ended: FilterOutcome) -> HookResult:
    """The answer of a command, or `NoAnswer`."""
    if ended.exit_code == BLOCKING_EXIT:
        return _plain_no(moment, ended.stderr.strip())
    output = ended.stdout.strip()
    if moment is HookEvent.WORKTREE_CREATE:
        return _made_worktree(ended, output)
    if output.startswith("{"):
        return answer_of_text(moment, output)
    if ended.exit_code != 0:
        raise NoAnswer(_how_it_ended(ended))
    return HookResult(context=output) if moment in PLAIN_OUTPUT_IS_CONTEXT else HookResult()


def answer_of_text(moment: HookEvent, text: str) -> HookResult:
    """The answer in JSON, which is the same for commands and HTTP handlers, or `NoAnswer`. Nothing is no objection."""
    if not text.strip():
        return HookResult()
    try:
        # JSON can spell half of a character, which nothing else can hold: not the log, not the system.
        said = with_whole_characters(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise NoAnswer("its output is not valid JSON") from error
    if not isinstance(said, dict):
        raise NoAnswer("its output is not a JSON object")
    return answer_of_json(moment, said)


def answer_of_json(moment: HookEvent, said: dict[str, Any]) -> HookResult:
    special = said.get("hookSpecificOutput")
    special = special if isinstance(special, dict) else {}
    if special.get("hookEventName") not in (None, moment):
        raise NoAnswer(f"its answer is for {special['hookEventName']!r}")
    decision, reason, updated = _decision(moment, said, special)
    blocked = (_text(said.get("reason")) or SAID_NO) if said.get("decision") == "block" else None
    stopped = None
    if said.get("continue") is False or _interrupts(moment, special):
        stopped = _text(said.get("stopReason")) or reason or _text(said.get("reason")) or "It gave no reason."
    message = _text(said.get("systemMessage"))
    return HookResult(
        blocked=None if moment in CANNOT_BLOCK else blocked,
        stopped=stopped,
        context=_text(special.get("additionalContext")),
        decision=decision,
        reason=reason,
        updated_input=updated,
        updated_output=_output(special) if moment is HookEvent.POST_TOOL_USE else None,
        messages=(message,) if message else (),
        output=_text(special.get("worktreePath")),
    )


def together(outcomes: Iterable[HookResult]) -> HookResult:
    """All answers as one: the strictest decision holds, words are joined, the last new input wins."""
    said = list(outcomes)
    decisive = next((o for word in STRICTEST_FIRST for o in said if o.decision == word), HookResult())
    updated = (o.updated_input for o in reversed(said) if o.updated_input is not None)
    return HookResult(
        blocked=next((o.blocked for o in said if o.blocked is not None), None),
        stopped=next((o.stopped for o in said if o.stopped is not None), None),
        context="\n".join(o.context for o in said if o.context),
        decision=decisive.decision,
        reason=decisive.reason,
        updated_input=None if decisive.decision == "deny" else next(updated, None),
        updated_output=next((o.updated_output for o in reversed(said) if o.updated_output is not None), None),
        messages=tuple(message for o in said for message in o.messages),
        output="\n".join(o.output for o in said if o.output),
    )


def refusal(moment: HookEvent, reason: str) -> HookResult:
    """What it means that a hook which must decide did not."""
    if moment is HookEvent.PERMISSION_REQUEST:
        return HookResult(decision="deny", reason=reason)
    return HookResult(messages=(reason,)) if moment in CANNOT_BLOCK else HookResult(blocked=reason)


Decided = tuple[str | None, str, dict[str, Any] | None]


def _decision(moment: HookEvent, said: dict[str, Any], special: dict[str, Any]) -> Decided:
    """What a hook decided about a call, why, and the input it wants instead."""
    if moment is HookEvent.PERMISSION_REQUEST:
        wish = special.get("decision")
        wish = wish if isinstance(wish, dict) else {}
        word, reason = wish.get("behavior"), _text(wish.get("message"))
        known: tuple[str, ...] = ("allow", "deny")
    elif moment is HookEvent.PRE_TOOL_USE:
        wish, known = special, STRICTEST_FIRST
        word = special.get("permissionDecision")
        reason = _text(special.get("permissionDecisionReason")) or _text(said.get("reason"))
        if word is None and said.get("decision") == "approve":
            word = "allow"
    else:
        return None, "", None
    updated = wish.get("updatedInput")
    return (word if word in known else None), reason, (updated if isinstance(updated, dict) else None)


def _interrupts(moment: HookEvent, special: dict[str, Any]) -> bool:
    """A denial of a permission can ask that the task ends with it."""
    wish = special.get("decision")
    if moment is not HookEvent.PERMISSION_REQUEST or not isinstance(wish, dict):
        return False
    return wish.get("behavior") == "deny" and wish.get("interrupt") is True


def _output(special: dict[str, Any]) -> str | None:
    """The result a hook wants the model to see, in the shape in which it was told the real one, or as plain text."""
    wish = special.get("updatedToolOutput")
    if isinstance(wish, dict):
        wish = wish.get("content")
    return wish if isinstance(wish, str) else None


def _plain_no(moment: HookEvent, reason: str) -> HookResult:
    if moment in CANNOT_BLOCK:
        return HookResult(messages=(reason,) if reason else ())
    return HookResult(blocked=reason or SAID_NO)


def _made_worktree(ended: FilterOutcome, output: str) -> HookResult:
    """It was to make a directory and print where: anything else has failed."""
    if ended.exit_code != 0:
        return HookResult(blocked=ended.stderr.strip() or _how_it_ended(ended))
    return HookResult(output=output) if output else HookResult(blocked="it printed no path")


def _how_it_ended(ended: FilterOutcome) -> str:
    if ended.timed_out:
        return "its time was up"
    how = "it was ended by a signal" if ended.exit_code is None else f"it exited with code {ended.exit_code}"
    last = ended.stderr.strip().rpartition("\n")[2]
    return f"{how}: {last[:200]}" if last else how


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
