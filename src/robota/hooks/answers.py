"""What a hook said, read from its exit code and output, and what several said together."""

import json
from collections.abc import Iterable
from typing import Any, Final

from robota.contracts.hook import Moment, Outcome
from robota.workspace.filter_process import FilterOutcome

BLOCKING_EXIT: Final = 2
CONTEXT_CHARACTERS: Final = 10_000

# Plain output is words for the model only at these moments; elsewhere it is a hook's chatter.
PLAIN_OUTPUT_IS_CONTEXT: Final = frozenset({Moment.SESSION_START, Moment.USER_PROMPT_SUBMIT})
# A no that nothing can be done about any more.
CANNOT_BLOCK: Final = frozenset(
    {Moment.SESSION_START, Moment.SESSION_END, Moment.NOTIFICATION, Moment.SUBAGENT_START, Moment.WORKTREE_REMOVE}
)
STRICTEST_FIRST: Final = ("deny", "ask", "allow")


def answer_of_command(moment: Moment, ended: FilterOutcome) -> Outcome | None:
    """The answer, or None if there is none: a time-out, a crash, output that cannot be read."""
    if ended.exit_code == BLOCKING_EXIT:
        reason = ended.stderr.strip() or "A hook said no."
        return Outcome() if moment in CANNOT_BLOCK else Outcome(blocked=reason)
    output = ended.stdout.strip()
    if output.startswith("{"):
        said = _object(output)
        return None if said is None else answer_of_json(moment, said)
    if ended.exit_code != 0:
        return None
    return Outcome(context=_bounded(output)) if moment in PLAIN_OUTPUT_IS_CONTEXT else Outcome()


def answer_of_json(moment: Moment, said: dict[str, Any]) -> Outcome:
    """The JSON form, which is the same for commands and HTTP handlers."""
    special = said.get("hookSpecificOutput")
    special = special if isinstance(special, dict) else {}
    reason = _text(special.get("permissionDecisionReason")) or _text(said.get("reason"))
    decision, updated = _decision(moment, said, special)
    blocked = None
    if said.get("decision") == "block" and moment not in CANNOT_BLOCK:
        blocked = reason or "A hook said no."
    stopped = None
    if said.get("continue") is False:
        stopped = _text(said.get("stopReason")) or reason or "A hook asked to stop."
    message = _text(said.get("systemMessage"))
    return Outcome(
        blocked=blocked,
        stopped=stopped,
        context=_bounded(_text(special.get("additionalContext"))),
        decision=decision,
        reason=reason,
        updated_input=updated,
        messages=(message,) if message else (),
    )


def together(outcomes: Iterable[Outcome]) -> Outcome:
    """All answers as one: the strictest decision holds, words are joined, the last new input wins."""
    said = list(outcomes)
    decisive = next((o for word in STRICTEST_FIRST for o in said if o.decision == word), None)
    return Outcome(
        blocked=next((o.blocked for o in said if o.blocked is not None), None),
        stopped=next((o.stopped for o in said if o.stopped is not None), None),
        context="\n".join(o.context for o in said if o.context),
        decision=decisive.decision if decisive else None,
        reason=decisive.reason if decisive else "",
        updated_input=next((o.updated_input for o in reversed(said) if o.updated_input is not None), None),
        messages=tuple(message for o in said for message in o.messages),
    )


def _decision(
    moment: Moment, said: dict[str, Any], special: dict[str, Any]
) -> tuple[str | None, dict[str, Any] | None]:
    """What a hook decided about a call, in either of the two forms, and the input it wants instead."""
    wish: dict[str, Any] = special
    word = special.get("permissionDecision")
    if moment is Moment.PERMISSION_REQUEST and isinstance(special.get("decision"), dict):
        wish = special["decision"]
        word = wish.get("behavior")
    if word is None and said.get("decision") == "approve":
        word = "allow"
    updated = wish.get("updatedInput")
    return (word if word in STRICTEST_FIRST else None), (updated if isinstance(updated, dict) else None)


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _bounded(text: str) -> str:
    if len(text) <= CONTEXT_CHARACTERS:
        return text
    return f"{text[:CONTEXT_CHARACTERS]}\n[… {len(text) - CONTEXT_CHARACTERS} more characters of a hook left out]"
