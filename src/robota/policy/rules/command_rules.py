"""Which rules speak for a simple command, and which against it."""

from typing import Final

from robota.policy.context import PolicyContext
from robota.policy.rules.command_match import begins_with, could_contain, matches_exactly, pattern_words
from robota.policy.rules.rule import EDIT, READ, Rule
from robota.policy.shell.escapes import escapes
from robota.policy.shell.part import CommandPart
from robota.protocol.permission_mode import PermissionMode
from robota.workspace.shell.script import Argv
from robota.workspace.shell.wrappers import program

# These take their words as text, so a word in them that names a command does not run it.
TAKE_TEXT: Final = frozenset("rm rmdir cp mv mkdir touch ln chmod chown tee curl wget kill unzip gunzip".split())
GIT_TAKES_TEXT: Final = frozenset("add commit tag merge stash checkout switch restore reset".split())
# These reach everything below a directory that they name.
TAKE_WHOLE_DIRECTORIES: Final = frozenset("rm rmdir mv cp chmod chown shred truncate".split())


def rule_against(part: CommandPart, rules: tuple[Rule, ...], context: PolicyContext) -> Rule | None:
    """The first rule that could speak of anything the command runs, writes or names."""
    return next((rule for rule in rules if _speaks_against(rule, part, context)), None)


def rule_for(part: CommandPart, rules: tuple[Rule, ...], context: PolicyContext) -> Rule | None:
    """The first rule that speaks of the command as a whole, provided it may write what it writes."""
    if not may_write(part, context):
        return None
    return next((rule for rule in rules if _speaks_for(rule, part)), None)


def may_write(part: CommandPart, context: PolicyContext) -> bool:
    """Whether every file the shell itself would write may be written without a question."""
    places = context.places
    locations = [location for _, location in part.locations(part.written, places)]
    if context.mode is PermissionMode.ACCEPT_EDITS:
        return all(places.inside(location) is not None for location in locations)
    if context.mode is PermissionMode.BYPASS:
        return True
    edits = [rule for rule in (*context.allow, *context.grants) if rule.tool == EDIT]
    return all(
        any(rule.paths is None or places.matches(location, rule.paths, broadly=False) for rule in edits)
        for location in locations
    )


def _speaks_against(rule: Rule, part: CommandPart, context: PolicyContext) -> bool:
    if rule.is_about_commands or rule.tool in {part.label, "*"}:
        return rule.spec is None or _could_run(part, pattern_words(rule.spec))
    if rule.paths is None:
        return (rule.speaks_of_all(EDIT) and bool(part.written)) or (rule.speaks_of_all(READ) and bool(part.looked_at))
    # What a command does to a file that it names is anybody's guess, unless it only looks.
    only_reads = part.looks is not None and rule.tool == EDIT
    words = part.written if only_reads else (*part.written, *part.named)
    takes_all = program(part.inner) in TAKE_WHOLE_DIRECTORIES
    return any(
        context.places.matches(location, rule.paths, broadly=True)
        or context.places.holds_matches(location, rule.paths, at_any_depth=takes_all)
        for _, location in part.locations(words, context.places)
    )


def _could_run(part: CommandPart, pattern: Argv) -> bool:
    if begins_with(part.command.argv, pattern) or begins_with(part.inner, pattern):
        return True
    return not _takes_text(part) and could_contain(part.command.text, pattern)


def _takes_text(part: CommandPart) -> bool:
    """Whether the program is known to run none of its words."""
    if part.looks is not None:
        return True
    if not part.unwrapped.inner:
        return False
    if part.inner[0] == "git":
        return len(part.inner) > 1 and part.inner[1] in GIT_TAKES_TEXT
    return part.inner[0] in TAKE_TEXT


def _speaks_for(rule: Rule, part: CommandPart) -> bool:
    if not rule.is_about_commands and rule.tool != part.label:
        return False
    if rule.spec is None:
        return True
    pattern = pattern_words(rule.spec)
    if _means_to_escape(part, pattern):
        return False
    if matches_exactly(part.command, part.command.argv, pattern):
        return True
    inner = part.unwrapped.inner
    return part.unwrapped.faithful and inner is not None and matches_exactly(part.command, inner, pattern)


def _means_to_escape(part: CommandPart, pattern: Argv) -> bool:
    """Whether a flag that makes the program run or write something else hides behind a `*` of a rule."""
    named = {word for word in pattern if "*" not in word}
    if pattern == ("*",) or len(named) == len(set(pattern)):
        return False
    return any(word not in named for word in escapes(part.command, part.inner))
