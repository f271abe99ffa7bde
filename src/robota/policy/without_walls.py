"""What changes for commands when no sandbox stands behind the verdict."""

import msgspec

from robota.contracts.tool import Effect
from robota.contracts.verdict import Decision, Subject, Verdict
from robota.policy.modes import PermissionMode
from robota.policy.stages import READ_ONLY

NO_SANDBOX = "No sandbox works on this machine, so a person decides about every command."
LEAVES_SANDBOX = "It wants to run without the sandbox; a person decides that each time."


def with_regard_to_walls(verdict: Verdict, subject: Subject, mode: PermissionMode, *, has_sandbox: bool) -> Verdict:
    """The verdict, made an ask where only a sandbox would have made the command harmless.

    A rule is a person's own word for exactly this command, and bypass mode for all of them: both hold without walls,
    but a rule does not cover a command that asks to leave them.
    """
    runs = Effect.EXECUTE in subject.effects
    if verdict.decision is not Decision.ALLOW or not runs or mode is PermissionMode.BYPASS:
        return verdict
    steps = (*verdict.steps, "sandbox")
    if subject.touches.outside_sandbox:
        return msgspec.structs.replace(
            verdict, decision=Decision.ASK, reason=LEAVES_SANDBOX, rule="sandbox", steps=steps
        )
    if not has_sandbox and not _said_by_a_person(verdict):
        return msgspec.structs.replace(verdict, decision=Decision.ASK, reason=NO_SANDBOX, steps=steps)
    return verdict


def _said_by_a_person(verdict: Verdict) -> bool:
    """Whether rules or grants speak for every part of the command."""
    rules = [part.rule for part in verdict.parts] or [verdict.rule]
    return all(rule not in (None, READ_ONLY) for rule in rules)
