"""The stages for a command that could not be parsed: only rules that allow every command let it through."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Final

import msgspec

from robota.contracts.verdict import Verdict
from robota.policy.protected.path_resolver import credential_store, protected_dot_pattern
from robota.policy.rules.command_match import begins_with, could_contain, pattern_words
from robota.policy.rules.rule import EDIT, Rule
from robota.policy.shell.command_part import HARMLESS_FILES
from robota.policy.shell.confined_command import by_confinement
from robota.policy.shell.critical_paths import critical_target_in_text
from robota.policy.stages import PolicyContext, Stage, allow, ask, deny
from robota.protocol.permission_mode import PermissionMode
from robota.workspace.shell.script import Argv

WORD: Final = re.compile(r"[^\s\"'`$|&;<>(){}=]+")
QUOTING: Final = re.compile(r"\\\n|[\"'\\]")
BRACES: Final = re.compile(r"\{([^\s{}]*+)\}")
BEFORE_BRACES: Final = re.compile(r"[^\s{}]*$")
AFTER_BRACES: Final = re.compile(r"[^\s{}]{0,200}")
MAX_PREFIX_LENGTH: Final = 200
MAX_BRACES: Final = 200
WRITTEN: Final = re.compile(r">[>|]?[ \t]*[\"']?([^\s\"'`$|&;<>(){}]+)")


class OpaqueCommand(msgspec.Struct, frozen=True, kw_only=True):
    """The whole text, why it could not be parsed, what was recognized in it anyway, and where it may run."""

    text: str
    reason: str
    possible: tuple[Argv, ...]
    tool: str
    label: str
    directories: tuple[str, ...]


def is_asked_anyway(tool: str, label: str, context: PolicyContext) -> bool:
    """Whether every command that cannot be parsed needs approval, regardless of what it names."""
    everything = [rule for rule in (*context.allow, *context.grants) if rule.spec is None]
    lets_through = any(rule.is_about_commands_of(tool, label) for rule in everything)
    is_careful = context.mode in {PermissionMode.DEFAULT, PermissionMode.ACCEPT_EDITS, PermissionMode.CONFINED}
    return is_careful and not context.deny and not lets_through


def _by_limits(command: OpaqueCommand, context: PolicyContext) -> Verdict | None:
    if context.mode is PermissionMode.PLAN:
        return deny(f"Plan mode runs only commands that can be checked word by word. {command.reason}")
    return None


def _by_deny_rules(command: OpaqueCommand, context: PolicyContext) -> Verdict | None:
    rule = _rule_against(command, context.deny, context)
    return deny(f"It may contain what the deny rule {rule.text} forbids. {command.reason}", rule.text) if rule else None


def _by_ask_rules(command: OpaqueCommand, context: PolicyContext) -> Verdict | None:
    rule = _rule_against(command, context.ask, context)
    return ask(f"The ask rule {rule.text} requires approval.", rule.text) if rule else None


def _by_critical_paths(command: OpaqueCommand, context: PolicyContext) -> Verdict | None:
    targets = (critical_target_in_text(command.text, context.resolver, each) for each in command.directories)
    word = next(filter(None, targets), None)
    reason = f"It may delete {word!r}, which could destroy your system or your files."
    return ask(reason, "critical path") if word else None


def _by_protected_paths(command: OpaqueCommand, context: PolicyContext) -> Verdict | None:
    """A rule for every command does not cover protected paths; a parsed command that names them needs approval, too."""
    if context.mode is PermissionMode.BYPASS:
        return None
    for word in _possible_names(command.text):
        for location in context.resolver.locations(word):
            inside = context.resolver.inside(location)
            pattern = credential_store(location) or protected_dot_pattern(inside or location.lstrip("/"))
            if pattern is not None:
                return ask(f"It may access {pattern}, which is protected. {command.reason}", f"protected {pattern}")
    return _by_what_it_writes(command, context)


def _by_what_it_writes(command: OpaqueCommand, context: PolicyContext) -> Verdict | None:
    for word in dict.fromkeys(WRITTEN.findall(command.text)):
        locations = context.resolver.locations(word)
        if word not in HARMLESS_FILES and any(context.resolver.inside(location) is None for location in locations):
            return ask(f"It may write to {word!r}, which is outside the workspace. {command.reason}", "outside")
    return None


def _by_allow_rules(command: OpaqueCommand, context: PolicyContext) -> Verdict | None:
    rule = _rule_for_everything(command, context.allow)
    return allow(f"The allow rule {rule.text} permits every command.", rule.text) if rule else None


def _by_grants(command: OpaqueCommand, context: PolicyContext) -> Verdict | None:
    rule = _rule_for_everything(command, context.grants)
    return allow(f"The user allowed {rule.text} for this session.", rule.text) if rule else None


def _by_mode(command: OpaqueCommand, context: PolicyContext) -> Verdict | None:
    if context.mode is PermissionMode.BYPASS:
        return allow("bypassPermissions mode allows everything that is not explicitly denied.")
    if context.mode is PermissionMode.CONFINED:
        return by_confinement(command.possible, context)
    return ask(f"The command cannot be checked word by word and needs approval as a whole. {command.reason}")


OPAQUE_STAGES: Final[tuple[Stage[OpaqueCommand], ...]] = (
    ("hard limits", _by_limits),
    ("deny rules", _by_deny_rules),
    ("ask rules", _by_ask_rules),
    ("critical paths", _by_critical_paths),
    ("protected paths", _by_protected_paths),
    ("allow rules", _by_allow_rules),
    ("session grants", _by_grants),
    ("mode", _by_mode),
)


def _rule_against(command: OpaqueCommand, rules: Iterable[Rule], context: PolicyContext) -> Rule | None:
    return next((rule for rule in rules if _speaks_against(rule, command, context)), None)


def _speaks_against(rule: Rule, command: OpaqueCommand, context: PolicyContext) -> bool:
    if rule.tool == "*" or rule.is_about_commands_of(command.tool, command.label):
        if rule.spec is None:
            return True
        pattern = pattern_words(rule.spec)
        return could_contain(command.text, pattern) or any(begins_with(argv, pattern) for argv in command.possible)
    if rule.paths is None:
        written = (word for word in WRITTEN.findall(command.text) if word not in HARMLESS_FILES)
        return rule.speaks_of_all(EDIT) and any(written)
    locations = {
        location: None for word in _possible_names(command.text) for location in context.resolver.locations(word)
    }
    return any(context.resolver.matches(location, rule.paths, broadly=True) for location in locations)


@lru_cache(maxsize=4)
def _possible_names(text: str) -> tuple[str, ...]:
    """Everything that could be a name: as written, without quotes, and with braces expanded."""
    unquoted = QUOTING.sub("", text)
    expanded = (word for match in islice(BRACES.finditer(unquoted), MAX_BRACES) for word in _from_braces(match))
    return tuple(dict.fromkeys((*WORD.findall(text), *WORD.findall(unquoted), *expanded)))


def _from_braces(match: re.Match[str]) -> Iterator[str]:
    """`a{b,c}d` is `abd` and `acd`."""
    text = match.string
    before = BEFORE_BRACES.search(text[max(0, match.start() - MAX_PREFIX_LENGTH) : match.start()])
    after = AFTER_BRACES.match(text, match.end())
    for middle in match[1].split(","):
        yield f"{before[0] if before else ''}{middle}{after[0] if after else ''}"


def _rule_for_everything(command: OpaqueCommand, rules: Iterable[Rule]) -> Rule | None:
    everything = (rule for rule in rules if rule.spec is None)
    return next((rule for rule in everything if rule.is_about_commands_of(command.tool, command.label)), None)
