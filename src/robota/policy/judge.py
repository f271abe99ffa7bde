"""Policy as a session uses it: what stays the same for the session is bound, what changes comes with each call."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from robota.contracts.tool import Effect
from robota.contracts.verdict import Subject, Verdict
from robota.policy.context import PolicyContext
from robota.policy.decide import decide
from robota.policy.protected.path_resolver import Places
from robota.policy.rules.rule import READ
from robota.policy.rules.sources import RuleSet, rules_granted
from robota.policy.unattended import unattended
from robota.policy.unsandboxed import leaving_the_sandbox
from robota.protocol.permission_mode import PermissionMode


class Judge(msgspec.Struct, frozen=True, kw_only=True):
    """`names` maps every name of a tool to its id. `is_safe_repository` says whether the repository names no programs.

    `sandbox_works` is asked only about commands, because the answer takes a probe; None: no sandbox is wanted.
    `keep_rules` writes rules that shall hold beyond the session to the settings, and says what went wrong.
    """

    rules: RuleSet
    places: Places
    names: Mapping[str, str]
    trusted: bool = True
    is_safe_repository: Callable[[], bool] = lambda: True
    sandbox_works: Callable[[], bool] | None = None
    keep_rules: Callable[[str, Sequence[str]], str] = lambda scope, rules: "Rules cannot be kept here."

    def forbids_reading(self, path: str) -> bool:
        """Whether a deny rule names this file as one that must not be read, by whatever tool."""
        patterns = (rule.paths for rule in self.rules.deny if rule.tool == READ)
        return any(pattern and self.places.matches(path, pattern, broadly=True) for pattern in patterns)

    def judge(self, subject: Subject, mode: PermissionMode, grants: Sequence[str]) -> Verdict:
        """Decide about a call under a permission mode, given the rules that a person granted for the session."""
        runs = Effect.EXECUTE in subject.effects
        context = PolicyContext(
            mode=mode,
            places=self.places,
            allow=self.rules.allow,
            ask=self.rules.ask,
            deny=self.rules.deny,
            grants=rules_granted(grants, self.names) if grants else (),
            trusted=self.trusted and (not runs or self.is_safe_repository()),
            sandboxed=self.sandbox_works is not None and not subject.touches.outside_sandbox,
            sandbox_missing=runs and self.sandbox_works is not None and not self.sandbox_works(),
        )
        verdict = decide(subject, context)
        return leaving_the_sandbox(verdict, mode) if subject.touches.outside_sandbox else verdict

    def decline(self, verdict: Verdict, subject: Subject) -> Verdict:
        """The denial that takes the place of a question when nobody is there to answer it."""
        return unattended(verdict, subject)

    def remember(self, scope: str, rules: Sequence[str]) -> str:
        """Keep rules that shall hold beyond the session; returns what went wrong, or nothing."""
        return self.keep_rules(scope, rules)
