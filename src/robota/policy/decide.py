"""Whether a call may run: pure, total, and with a reason for everything."""

from typing import Final

import msgspec

from robota.contracts.tool import Effect
from robota.contracts.verdict import Decision, Subject, Verdict
from robota.policy.context import PolicyContext
from robota.policy.protected.protected_paths import hides_what_it_is, secret_pattern, steering_pattern
from robota.policy.rules.rule import possibly_matches, surely_matches
from robota.policy.stages import Stage, allow, ask, deny, first_opinion
from robota.protocol.permission_mode import PermissionMode

LOOKING: Final = frozenset({Effect.READ, Effect.TALK})


def decide(subject: Subject, context: PolicyContext) -> Verdict:
    """The verdict of the first stage that has an opinion; for a shell command, of the strictest of its parts."""
    if subject.touches.command is None:
        return first_opinion(CALL_STAGES, subject, context)
    return _decide_command(subject, subject.touches.command, context)


def _decide_command(subject: Subject, command: str, context: PolicyContext) -> Verdict:
    # Reading shell commands is a good part of policy; a task without one need not load it.
    from robota.policy.shell.command import decide_command

    limit = _by_hard_limits(subject, context)
    if limit is not None:
        return msgspec.structs.replace(limit, steps=("hard limits",))
    verdict = decide_command(subject, command, context)
    if verdict.decision is Decision.DENY or verdict.rule in {rule.text for rule in context.ask}:
        return verdict
    scope = _by_scope(subject, context)
    return verdict if scope is None else msgspec.structs.replace(scope, parts=verdict.parts, steps=("intent scope",))


def _by_hard_limits(subject: Subject, context: PolicyContext) -> Verdict | None:
    touches = subject.touches
    if any("\0" in text for text in (*touches.paths, touches.command or "", touches.host or "")):
        return deny("A NUL byte in a path, a command or the name of a host is never meant well.")
    for path in touches.paths:
        place = context.places.inside(path)
        if place is None:
            return deny(f"{path!r} is outside the workspace {str(context.places.root)!r}.")
        if not _only_looks(subject) and steering_pattern(place) is not None and hides_what_it_is(path, place):
            return deny(f"{path!r} is protected and written so as to hide that. Write it the plain way to be asked.")
    if touches.command is None and context.mode is PermissionMode.PLAN and not _only_looks(subject):
        return deny(f"In plan mode nothing is changed or run, so {subject.label} is not available.")
    return _by_host(subject)


def _by_host(subject: Subject) -> Verdict | None:
    host = subject.touches.host
    if host is None:
        return None
    if not host:
        return deny("The address names no host that could be judged.")
    # Only the few calls that leave the machine need to know about addresses.
    from robota.policy.rules.hosts import problem_with_host

    problem = problem_with_host(host)
    return deny(f"Nothing is fetched from {host!r}: {problem}.") if problem else None


def _by_deny_rules(subject: Subject, context: PolicyContext) -> Verdict | None:
    for rule in context.deny:
        if possibly_matches(rule, subject, context.places):
            return deny(f"The deny rule {rule.text} forbids it.", rule.text)
    return None


def _by_ask_rules(subject: Subject, context: PolicyContext) -> Verdict | None:
    for rule in context.ask:
        if possibly_matches(rule, subject, context.places):
            return ask(f"The ask rule {rule.text} wants a person to decide.", rule.text)
    return None


def _by_scope(subject: Subject, context: PolicyContext) -> Verdict | None:
    verdict = context.scope(subject) if context.scope is not None else None
    return None if verdict is None or verdict.decision is Decision.ALLOW else verdict


def _by_protected_paths(subject: Subject, context: PolicyContext) -> Verdict | None:
    if context.mode is PermissionMode.BYPASS:
        return None
    is_protected = secret_pattern if _only_looks(subject) else steering_pattern
    for path in subject.touches.paths:
        pattern = is_protected(context.places.inside(path) or path)
        if pattern is not None:
            reason = f"{pattern} is protected: what stands there can run code or hold secrets."
            return ask(reason, f"protected {pattern}")
    return None


def _by_allow_rules(subject: Subject, context: PolicyContext) -> Verdict | None:
    for rule in context.allow:
        if surely_matches(rule, subject, context.places):
            return allow(f"The allow rule {rule.text} permits it.", rule.text)
    return None


def _by_grants(subject: Subject, context: PolicyContext) -> Verdict | None:
    for rule in context.grants:
        if surely_matches(rule, subject, context.places):
            return allow(f"A person granted {rule.text} for this session.", rule.text)
    return None


def _by_mode(subject: Subject, context: PolicyContext) -> Verdict | None:
    mode = context.mode
    if mode is PermissionMode.BYPASS:
        return allow("In bypassPermissions mode everything runs that is not forbidden.")
    if _only_looks(subject):
        return allow("Reading inside the workspace and talking to the person need no permission.")
    if mode is PermissionMode.ACCEPT_EDITS and subject.effects and subject.effects <= LOOKING | {Effect.WRITE}:
        return allow("In acceptEdits mode files inside the workspace may be edited.")
    from robota.policy.rules.suggest import call_suggestions

    verdict = ask(f"In {mode} mode a person decides about {subject.label}.")
    return msgspec.structs.replace(verdict, suggestions=call_suggestions(subject, context.places))


CALL_STAGES: Final[tuple[Stage[Subject], ...]] = (
    ("hard limits", _by_hard_limits),
    ("deny rules", _by_deny_rules),
    ("ask rules", _by_ask_rules),
    ("intent scope", _by_scope),
    ("protected paths", _by_protected_paths),
    ("allow rules", _by_allow_rules),
    ("session grants", _by_grants),
    ("mode", _by_mode),
)


def _only_looks(subject: Subject) -> bool:
    # A tool that declares no effect has not been understood; it gets nothing for free.
    return bool(subject.effects) and subject.effects <= LOOKING
