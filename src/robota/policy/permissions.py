"""From the rules as settings have them to rules that are in force."""

from collections.abc import Iterable, Mapping

import msgspec

from robota.config.schema import Permissions
from robota.policy.rules import InvalidRule, Rule, parse_rules


class RuleSet(msgspec.Struct, frozen=True, kw_only=True):
    """Rules in force, and those that could not be read: they are named, never silently dropped."""

    allow: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()
    invalid: tuple[InvalidRule, ...] = ()

    def __add__(self, other: "RuleSet") -> "RuleSet":
        return RuleSet(
            allow=self.allow + other.allow,
            ask=self.ask + other.ask,
            deny=self.deny + other.deny,
            invalid=self.invalid + other.invalid,
        )


def rule_set(permissions: Permissions, names: Mapping[str, str]) -> RuleSet:
    """`names` maps every name of a tool to its id."""
    allow, bad_allow = parse_rules(permissions.allow, names)
    ask, bad_ask = parse_rules(permissions.ask, names)
    deny, bad_deny = parse_rules(permissions.deny, names)
    return RuleSet(allow=allow, ask=ask, deny=deny, invalid=(*bad_allow, *bad_ask, *bad_deny))


def granted(texts: Iterable[str], names: Mapping[str, str]) -> tuple[Rule, ...]:
    """The rules of a suggestion that a person accepted for the session."""
    return parse_rules(texts, names)[0]
