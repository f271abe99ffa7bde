"""Policy as a session uses it: what stays the same for the session is bound, what changes comes with each call."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from robota.contracts.tool import Effect
from robota.contracts.verdict import Subject, Verdict
from robota.policy.context import PolicyContext
from robota.policy.decide import decide
from robota.policy.modes import PermissionMode
from robota.policy.permissions import RuleSet, rules_granted
from robota.policy.places import Places
from robota.policy.without_walls import with_regard_to_walls


class Judge(msgspec.Struct, frozen=True, kw_only=True):
    """`names` maps every name of a tool to its id. `git_only_looks` says whether the repository names no programs.

    `sandbox_works` is asked only about commands, because the answer takes a probe; None: no sandbox is wanted.
    """

    rules: RuleSet
    places: Places
    names: Mapping[str, str]
    trusted: bool = True
    git_only_looks: Callable[[], bool] = lambda: True
    sandbox_works: Callable[[], bool] | None = None

    def __call__(self, subject: Subject, permission_mode: str, grants: Sequence[str]) -> Verdict:
        mode = PermissionMode(permission_mode)
        context = PolicyContext(
            mode=mode,
            places=self.places,
            allow=self.rules.allow,
            ask=self.rules.ask,
            deny=self.rules.deny,
            grants=rules_granted(grants, self.names) if grants else (),
            trusted=self.trusted and (Effect.EXECUTE not in subject.effects or self.git_only_looks()),
            sandboxed=self.sandbox_works is not None and not subject.touches.outside_sandbox,
        )
        verdict = decide(subject, context)
        if Effect.EXECUTE not in subject.effects or self.sandbox_works is None:
            return verdict
        return with_regard_to_walls(verdict, subject, mode, has_sandbox=self.sandbox_works())
