"""What a decision rests on besides the call."""

from collections.abc import Callable

import msgspec

from robota.contracts.verdict import Subject, Verdict
from robota.policy.protected.path_resolver import Places
from robota.policy.rules.rule import Rule
from robota.protocol.permission_mode import PermissionMode

ScopeCheck = Callable[[Subject], Verdict | None]


class PolicyContext(msgspec.Struct, frozen=True, kw_only=True):
    """The mode, the rules in force, and where things are.

    `grants` are rules a person gave for this session. `scope` is where intents plug in: it may refuse or ask,
    and an allow from it is ignored. In an untrusted workspace git is not harmless, even to look,
    nor where the repository's own configuration names programs. `sandbox_missing`: a sandbox is wanted, but none works
    here, so that nothing runs for being harmless alone.
    """

    mode: PermissionMode
    places: Places
    allow: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()
    grants: tuple[Rule, ...] = ()
    scope: ScopeCheck | None = None
    trusted: bool = True
    sandboxed: bool = False
    sandbox_missing: bool = False
