"""Parses permission rules from settings and command-line options."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from robota.config.errors import ConfigError
from robota.config.settings.layers import CLAUDE_LAYERS, WORKSPACE_LAYERS
from robota.config.settings.merge import Entry
from robota.config.settings.schema import Permissions
from robota.policy.rules.rule import InvalidRule, Rule, parse_rule, parse_rules, split_rules


class RuleSet(msgspec.Struct, frozen=True, kw_only=True):
    """The rules in force, by decision."""

    allow: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()

    def __add__(self, other: "RuleSet") -> "RuleSet":
        return RuleSet(allow=self.allow + other.allow, ask=self.ask + other.ask, deny=self.deny + other.deny)


MAX_NOTICES: Final = 20

# In the functions below, `names` maps every name of a tool to its id.


def rules_of_settings(entries: Iterable[Entry], names: Mapping[str, str]) -> tuple[RuleSet, tuple[str, ...]]:
    """The rules of all settings layers, and notices about rules without effect.

    An unparsable rule is an error, unless it comes from the workspace: a repository must not be able to prevent
    start-up.
    """
    rules: dict[str, list[Rule]] = {"allow": [], "ask": [], "deny": []}
    notices: list[str] = []
    for entry in entries:
        if entry.key[0] != "permissions" or entry.key[-1] not in rules:
            continue
        valid, invalid = parse_rules(_written(entry), names)
        rules[entry.key[-1]] += valid
        problems = [f"{entry.origin.where}: {rule.message}" for rule in invalid]
        unreadable = any(isinstance(parse_rule(rule.text), InvalidRule) for rule in invalid)
        if unreadable and entry.origin.layer not in WORKSPACE_LAYERS:
            raise ConfigError(" ".join([*problems, "Nothing was started."]))
        notices += [f"{problem} It has no effect." for problem in problems[:MAX_NOTICES]]
        if len(problems) > MAX_NOTICES:
            notices.append(f"{entry.origin.where}: {len(problems) - MAX_NOTICES:,} more rules have no effect.")
    return RuleSet(**{name: tuple(parsed) for name, parsed in rules.items()}), tuple(notices)


def rules_of_options(allowed: Iterable[str], disallowed: Iterable[str], names: Mapping[str, str]) -> RuleSet:
    """The rules in `--allowed-tools` and `--disallowed-tools`; each string may contain several."""
    allow, bad_allow = parse_rules((rule for text in allowed for rule in split_rules(text)), names)
    deny, bad_deny = parse_rules((rule for text in disallowed for rule in split_rules(text)), names)
    _refuse((*bad_allow, *bad_deny), "Nothing was started.")
    return RuleSet(allow=allow, deny=deny)


def rules_to_look_at(permissions: Permissions, names: Mapping[str, str]) -> RuleSet:
    """The rules of one file, or of merged settings, for evaluation without running anything."""
    allow, bad_allow = parse_rules(permissions.allow, names)
    ask, bad_ask = parse_rules(permissions.ask, names)
    deny, bad_deny = parse_rules(permissions.deny, names)
    _refuse((*bad_allow, *bad_ask, *bad_deny), "Nothing was evaluated.")
    return RuleSet(allow=allow, ask=ask, deny=deny)


def rules_granted(texts: Iterable[str], names: Mapping[str, str]) -> tuple[Rule, ...]:
    """The rules of a suggestion that the user accepted for the session."""
    return parse_rules(texts, names)[0]


def _refuse(invalid: tuple[InvalidRule, ...], left_undone: str) -> None:
    if invalid:
        raise ConfigError(" ".join([*(rule.message for rule in invalid), left_undone]))


def _written(entry: Entry) -> Iterable[str]:
    rules: Iterable[str] = entry.value
    if entry.origin.layer not in CLAUDE_LAYERS:
        return rules
    # Loaded late: few workspaces have rules of Claude Code.
    from robota.config.claude_rules import with_our_wildcards

    return map(with_our_wildcards, rules)
