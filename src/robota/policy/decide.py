"""Whether a call may run: pure, total, and with a reason for everything."""

from pathlib import Path

import msgspec

from robota.contracts.tool import Effect
from robota.contracts.verdict import Decision, Subject, Verdict
from robota.policy.modes import PermissionMode
from robota.policy.paths import beneath
from robota.policy.protected import LOOKING, protected_pattern
from robota.policy.rules import Rule, possibly_matches, surely_matches

MAX_COMMAND_CHARACTERS = 100_000


class PolicyContext(msgspec.Struct, frozen=True, kw_only=True):
    """What the decision rests on besides the call. `root` is the real path of the workspace."""

    mode: PermissionMode
    root: Path
    allow: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()


def decide(subject: Subject, context: PolicyContext) -> Verdict:
    """The first of these that has an opinion: hard limits, deny, bypass, ask, protected paths, allow, mode."""
    return (
        _by_hard_limits(subject, context)
        or _by_deny_rules(subject, context)
        or _by_bypass(context)
        or _by_ask_rules(subject, context)
        or _by_protected_paths(subject, context)
        or _by_allow_rules(subject, context)
        or _by_mode(subject, context.mode)
    )


def _by_hard_limits(subject: Subject, context: PolicyContext) -> Verdict | None:
    touches = subject.touches
    if any("\0" in text for text in (*touches.paths, touches.command or "")):
        return _deny("A NUL byte in a path or a command is never meant well.")
    if len(touches.command or "") > MAX_COMMAND_CHARACTERS:
        return _deny(f"A command of more than {MAX_COMMAND_CHARACTERS:,} characters cannot be judged.")
    outside = [path for path in touches.paths if beneath(context.root, path) is None]
    if outside:
        return _deny(f"{outside[0]!r} is outside the workspace {str(context.root)!r}.")
    if context.mode is PermissionMode.PLAN and not _only_looks(subject):
        return _deny(f"In plan mode nothing is changed or run, so {subject.label} is not available.")
    return None


def _by_deny_rules(subject: Subject, context: PolicyContext) -> Verdict | None:
    for rule in context.deny:
        if possibly_matches(rule, subject, context.root):
            return _deny(f"The deny rule {rule.text} forbids it.", rule.text)
    return None


def _by_bypass(context: PolicyContext) -> Verdict | None:
    if context.mode is PermissionMode.BYPASS:
        return _allow("In bypassPermissions mode everything runs that is not forbidden.")
    return None


def _by_ask_rules(subject: Subject, context: PolicyContext) -> Verdict | None:
    for rule in context.ask:
        if possibly_matches(rule, subject, context.root):
            return _ask(f"The ask rule {rule.text} wants a person to decide.", rule.text)
    return None


def _by_protected_paths(subject: Subject, context: PolicyContext) -> Verdict | None:
    pattern = protected_pattern(subject, context.root)
    if pattern is None:
        return None
    return _ask(f"{pattern} is protected: what is written there can run code or hold secrets.", f"protected {pattern}")


def _by_allow_rules(subject: Subject, context: PolicyContext) -> Verdict | None:
    for rule in context.allow:
        if surely_matches(rule, subject, context.root):
            return _allow(f"The allow rule {rule.text} permits it.", rule.text)
    return None


def _by_mode(subject: Subject, mode: PermissionMode) -> Verdict:
    if _only_looks(subject):
        return _allow("Reading inside the workspace and talking to the person need no permission.")
    if mode is PermissionMode.ACCEPT_EDITS and subject.effects and subject.effects <= LOOKING | {Effect.WRITE}:
        return _allow("In acceptEdits mode files inside the workspace may be edited.")
    return _ask(f"In {mode} mode a person decides about {subject.label}.")


def _only_looks(subject: Subject) -> bool:
    # A tool that declares no effect has not been understood; it gets nothing for free.
    return bool(subject.effects) and subject.effects <= LOOKING


def _allow(reason: str, rule: str | None = None) -> Verdict:
    return Verdict(decision=Decision.ALLOW, reason=reason, rule=rule)


def _ask(reason: str, rule: str | None = None) -> Verdict:
    return Verdict(decision=Decision.ASK, reason=reason, rule=rule)


def _deny(reason: str, rule: str | None = None) -> Verdict:
    return Verdict(decision=Decision.DENY, reason=reason, rule=rule)
