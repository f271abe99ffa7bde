"""Rules such as `Read`, `Bash(git diff *)` or `Write(src/**)`: how they are written and what they match."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from robota.contracts.verdict import Subject
from robota.policy.commands import could_contain, matches_exactly, pattern_words, plain_words, problem_with_words
from robota.policy.paths import beneath, matches_pattern, problem_with_pattern

RULE = re.compile(r"([A-Za-z_][\w.:-]*)(?:\((.*)\))?", re.DOTALL)


# What stands in the parentheses is words of a command for these, and a path for all others.
COMMAND_TOOLS = frozenset({"execute_command", "Bash"})


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule as written (`text`), the tool it is about, and what of the tool's calls (`spec`; None: all)."""

    text: str
    tool: str
    spec: str | None = None


class InvalidRule(msgspec.Struct, frozen=True, kw_only=True):
    """Text that is no rule, and why."""

    text: str
    problem: str

    @property
    def message(self) -> str:
        return f"The rule {self.text!r} is not valid: {self.problem}."


def parse_rule(text: str, names: Mapping[str, str] | None = None) -> Rule | InvalidRule:
    """Read one rule. `names` maps every name of a tool to its id; without it a name is taken as it stands."""
    found = RULE.fullmatch(text.strip())
    if found is None:
        return InvalidRule(text=text, problem="it is neither 'Tool' nor 'Tool(pattern)'")
    name, spec = found[1], found[2]
    if names is not None and name not in names:
        return InvalidRule(text=text, problem=f"there is no tool called {name!r}")
    if spec is not None and not spec.strip():
        return InvalidRule(text=text, problem="the parentheses are empty; leave them out to mean every call")
    tool = name if names is None else names[name]
    rule = Rule(text=text.strip(), tool=tool, spec=spec.strip() if spec else None)
    problem = _problem_with_spec(rule)
    return rule if problem is None else InvalidRule(text=text, problem=problem)


def parse_rules(
    texts: Iterable[str], names: Mapping[str, str] | None = None
) -> tuple[tuple[Rule, ...], tuple[InvalidRule, ...]]:
    """Read many; the valid ones and the others, each in order."""
    parsed = [parse_rule(text, names) for text in texts]
    valid = tuple(rule for rule in parsed if isinstance(rule, Rule))
    return valid, tuple(rule for rule in parsed if isinstance(rule, InvalidRule))


def split_rules(text: str) -> tuple[str, ...]:
    """Rules in one string, separated by commas or spaces; inside parentheses both belong to the rule."""
    rules, depth = [""], 0
    for character in text:
        depth = max(0, depth + (character == "(") - (character == ")"))
        if depth == 0 and (character == "," or character.isspace()):
            rules.append("")
        else:
            rules[-1] += character
    return tuple(rule for rule in rules if rule)


def surely_matches(rule: Rule, subject: Subject, root: Path) -> bool:
    """For allow rules: true only if the rule speaks of everything the call touches."""
    if not _names(rule, subject):
        return False
    if rule.spec is None:
        return True
    touches = subject.touches
    if touches.command is not None:
        words = plain_words(touches.command)
        return words is not None and matches_exactly(words, pattern_words(rule.spec))
    return bool(touches.paths) and all(_path_matches(rule.spec, path, root, False) for path in touches.paths)


def possibly_matches(rule: Rule, subject: Subject, root: Path) -> bool:
    """For deny and ask rules: true if the rule could speak of anything the call touches."""
    if not _names(rule, subject):
        return False
    if rule.spec is None:
        return True
    touches = subject.touches
    if touches.command is not None:
        return could_contain(touches.command, pattern_words(rule.spec))
    if not touches.paths:
        return True
    return any(_path_matches(rule.spec, path, root, True) for path in touches.paths)


def _problem_with_spec(rule: Rule) -> str | None:
    if rule.spec is None:
        return None
    return problem_with_words(rule.spec) if rule.tool in COMMAND_TOOLS else problem_with_pattern(rule.spec)


def _names(rule: Rule, subject: Subject) -> bool:
    return rule.tool in {subject.tool, subject.label}


def _path_matches(pattern: str, path: str, root: Path, broadly: bool) -> bool:
    """`broadly` decides what cannot be decided, and whether case matters: to some file systems it does not."""
    place = beneath(root, path)
    if place is None or problem_with_pattern(pattern) is not None:
        return broadly
    return matches_pattern(place, pattern, ignore_case=broadly)
