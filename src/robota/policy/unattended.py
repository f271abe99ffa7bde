"""What becomes of a question when nobody is there to answer it."""

import msgspec

from robota.contracts.tool import Effect
from robota.contracts.verdict import Decision, Subject, Verdict

NOBODY = "Nobody is there to answer, so it was not run."
IN_GENERAL = (
    "To allow file edits use --permission-mode acceptEdits; to allow commands name them, "
    "for example --allowed-tools 'Bash(npm test *)'."
)


def unattended(verdict: Verdict, subject: Subject | None = None) -> Verdict:
    """An ask becomes a denial that says how to allow it next time; anything else stays as it is."""
    if verdict.decision is not Decision.ASK:
        return verdict
    reason = f"{verdict.reason} {NOBODY} {_way_out(verdict, subject)}"
    return msgspec.structs.replace(verdict, decision=Decision.DENY, reason=reason)


def _way_out(verdict: Verdict, subject: Subject | None) -> str:
    if verdict.rule is not None:
        return "Run it with a person present, or, in a container, with --permission-mode bypassPermissions."
    if subject is None:
        return IN_GENERAL
    if subject.touches.command is not None:
        return _way_out_for_command(verdict, subject.label)
    if Effect.WRITE in subject.effects and Effect.NETWORK not in subject.effects:
        return f"To allow it use --permission-mode acceptEdits or --allowed-tools {subject.label}."
    return f"To allow it use --allowed-tools {subject.label}."


def _way_out_for_command(verdict: Verdict, label: str) -> str:
    if not verdict.suggestions:
        return f"To allow every command use --allowed-tools {label}; or write this one in plain words."
    return f"To allow it use --allowed-tools '{','.join(verdict.suggestions[0].rules)}'."
