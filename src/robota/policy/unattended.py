"""What becomes of a question when nobody is there to answer it."""

from robota.contracts.tool import Effect
from robota.contracts.verdict import Decision, Subject, Verdict
from robota.policy.commands import plain_words

IN_GENERAL = (
    "To allow file edits use --permission-mode acceptEdits; to allow commands name them, "
    "for example --allowed-tools 'Bash(npm test *)'."
)


def unattended(verdict: Verdict, subject: Subject | None = None) -> Verdict:
    """An ask becomes a denial that says how to allow it next time; anything else stays as it is."""
    if verdict.decision is not Decision.ASK:
        return verdict
    reason = f"{verdict.reason} Nobody is there to answer, so it was not run. {_way_out(verdict, subject)}"
    return Verdict(decision=Decision.DENY, reason=reason, rule=verdict.rule)


def _way_out(verdict: Verdict, subject: Subject | None) -> str:
    if verdict.rule is not None:
        return "Run it with a person present, or, in a container, with --permission-mode bypassPermissions."
    if subject is None:
        return IN_GENERAL
    if Effect.WRITE in subject.effects and subject.touches.command is None:
        return f"To allow it use --permission-mode acceptEdits or --allowed-tools {subject.label}."
    command = subject.touches.command
    if command is None:
        return f"To allow it use --allowed-tools {subject.label}."
    words = plain_words(command)
    if words is None:
        return f"To allow every command use --allowed-tools {subject.label}; or write this one in plain words."
    return f"To allow it use --allowed-tools '{subject.label}({' '.join(words)})'."
