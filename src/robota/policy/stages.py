"""What a decision rests on besides the call, and how stages make one: the first with an opinion decides."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from robota.contracts.verdict import Decision, Verdict
from robota.policy.protected.path_resolver import KeptFiles, PathResolver
from robota.policy.rules.rule import Rule
from robota.protocol.permission_mode import PermissionMode
from robota.workspace.git.looking import ConfiguredPrograms, GitPlace

T = TypeVar("T")


def only_at_the_root(directory: str) -> GitPlace:
    """Where nobody looks, another directory may hold a repository of its own."""
    return GitPlace(problem=None if directory == "." else "another directory may hold a repository of its own")


class PolicyContext(msgspec.Struct, frozen=True, kw_only=True):
    """The mode, the rules in force, and where things are.

    `grants` are rules a person gave for this session. In an untrusted workspace git is not harmless, even to look, nor
    where `git_place` says so of a directory; `git_programs` are those that the person's own configuration names.
    `files` says what is kept from the model. `sandbox_missing`: a sandbox is wanted, but none works here, so that
    nothing runs for being harmless alone.
    """

    mode: PermissionMode
    resolver: PathResolver
    allow: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()
    grants: tuple[Rule, ...] = ()
    files: KeptFiles = KeptFiles()
    trusted: bool = True
    git_place: Callable[[str], GitPlace] = only_at_the_root
    git_programs: Callable[[], ConfiguredPrograms] = ConfiguredPrograms
    sandboxed: bool = False
    sandbox_missing: bool = False


Stage = tuple[str, Callable[[T, PolicyContext], Verdict | None]]


def first_opinion(stages: Sequence[Stage[T]], matter: T, context: PolicyContext) -> Verdict:
    """The verdict of the first stage that gives one, with the names of all that were asked."""
    names: list[str] = []
    for name, stage in stages:
        names.append(name)
        verdict = stage(matter, context)
        if verdict is not None:
            return msgspec.structs.replace(verdict, steps=tuple(names))
    return deny("No rule covers this call.")


def allow(reason: str, rule: str | None = None) -> Verdict:
    """A verdict that lets the call run."""
    return Verdict(decision=Decision.ALLOW, reason=reason, rule=rule)


def ask(reason: str, rule: str | None = None) -> Verdict:
    """A verdict that leaves it to a person."""
    return Verdict(decision=Decision.ASK, reason=reason, rule=rule)


def deny(reason: str, rule: str | None = None) -> Verdict:
    """A verdict that forbids the call."""
    return Verdict(decision=Decision.DENY, reason=reason, rule=rule)
