"""What is said of a command that asks to run without the sandbox."""

from typing import Final

import msgspec

from robota.contracts.verdict import Decision, Verdict
from robota.protocol.permission_mode import PermissionMode

LEAVES_SANDBOX: Final = "It wants to run without the sandbox; a person decides that each time."


def leaving_the_sandbox(verdict: Verdict, mode: PermissionMode) -> Verdict:
    """The verdict about the command, made a question that no rule spares next time and no hook answers.

    Only a denial, and the mode in which a person lets everything run, go beyond that.
    """
    if verdict.decision is Decision.DENY or mode is PermissionMode.BYPASS:
        return verdict
    return msgspec.structs.replace(
        verdict,
        decision=Decision.ASK,
        reason=LEAVES_SANDBOX,
        rule="sandbox",
        suggestions=(),
        steps=(*verdict.steps, "sandbox"),
    )
