"""Whether a permission rule matches a call, for uses other than permissions."""

from collections.abc import Sequence

import msgspec

from robota.contracts.tool import AnyTool, BadArguments, ToolCall
from robota.contracts.verdict import Decision, Subject
from robota.policy.decide import SessionPolicy
from robota.policy.rules.rule import InvalidRule, names_tool, parse_rule
from robota.policy.rules.sources import RuleSet
from robota.protocol.permission_mode import PermissionMode


def problem_with_rule(text: str, policy: SessionPolicy) -> str | None:
    """Why a text is not a valid rule; None if it is."""
    rule = parse_rule(text, policy.names)
    return rule.message.rstrip(".") if isinstance(rule, InvalidRule) else None


def matches_call(text: str, tool: AnyTool, call: ToolCall, policy: SessionPolicy) -> bool:
    """Whether the rule could match any part of the call, as broadly as a deny rule does.

    A call that cannot be checked, or that is denied anyway, matches.
    """
    rule = parse_rule(text, policy.names)
    if isinstance(rule, InvalidRule):
        return True
    try:
        params = tool.decode(call.input)
    except BadArguments:
        # Its arguments cannot be checked, but its tool can.
        return names_tool(rule, tool.name, tool.label, tool.effects)
    subject = Subject(
        tool=tool.name, label=tool.label, effects=tool.effects_of(params), touches=tool.touches(params), mode=""
    )
    alone = msgspec.structs.replace(policy, rules=RuleSet(deny=(rule,)), trusted=False, sandbox_works=None)
    return alone.judge(subject, PermissionMode.BYPASS, NO_GRANTS).decision is Decision.DENY


NO_GRANTS: Sequence[str] = ()
