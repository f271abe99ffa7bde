"""Turns an ask into a denial when no user can answer it, with advice for the user on how to allow it."""

from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from robota.contracts.tool import Effect
from robota.contracts.verdict import Decision, Subject, Verdict
from robota.protocol.permission_mode import PermissionMode

NOBODY: Final = "No user is present to approve it, so it was not run."
WITH_A_PERSON: Final = "Run it in an interactive session."
IN_A_CONTAINER: Final = "Run it in an interactive session or, in a container, with --permission-mode bypassPermissions."

# The decision of policy about the call, given a mode and rules.
Judge = Callable[[PermissionMode, tuple[str, ...]], Decision]


class WayOut(msgspec.Struct, frozen=True):
    """A piece of advice, with the mode and rules that it suggests."""

    advice: str
    mode: PermissionMode
    rules: tuple[str, ...] = ()


def unattended(verdict: Verdict, subject: Subject, judge: Judge) -> Verdict:
    """Turn an ask into a denial. Only advice that would actually allow the call is given."""
    if verdict.decision is not Decision.ASK:
        return verdict
    reason, advice = f"{verdict.reason} {NOBODY}", _advice(verdict, subject, judge)
    return msgspec.structs.replace(verdict, decision=Decision.DENY, reason=reason, advice=advice)


def _advice(verdict: Verdict, subject: Subject, judge: Judge) -> str:
    if verdict.wanted_by_hook:
        return WITH_A_PERSON
    for way in _ways_out(verdict, subject):
        if judge(way.mode, way.rules) is Decision.ALLOW:
            return way.advice
    return IN_A_CONTAINER if judge(PermissionMode.BYPASS, ()) is Decision.ALLOW else WITH_A_PERSON


def _ways_out(verdict: Verdict, subject: Subject) -> Iterator[WayOut]:
    """The possible advice, narrowest first."""
    label, default, edits = subject.label, PermissionMode.DEFAULT, PermissionMode.ACCEPT_EDITS
    if subject.touches.command is not None:
        if verdict.suggestions:
            rules = verdict.suggestions[0].rules
            yield WayOut(f"To allow it, use --allowed-tools '{','.join(rules)}'.", default, rules)
        yield WayOut("To allow it, use --permission-mode acceptEdits.", edits)
        every = f"To allow every command, use --allowed-tools {label}"
        yield WayOut(f"{every}; or rewrite this one without shell expansions.", default, (label,))
        yield WayOut(f"{every} --permission-mode acceptEdits.", edits, (label,))
        return
    if Effect.WRITE in subject.effects and Effect.NETWORK not in subject.effects:
        yield WayOut(f"To allow it, use --permission-mode acceptEdits or --allowed-tools {label}.", edits)
    yield WayOut(f"To allow it, use --allowed-tools {label}.", default, (label,))
