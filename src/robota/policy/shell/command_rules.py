"""Rules and shell commands: which rules allow a command, and which forbid it."""

from typing import TYPE_CHECKING, Final

import msgspec

from robota.policy.rules.command_match import begins_with, could_contain, matches_exactly, pattern_words
from robota.policy.rules.rule import EDIT, READ, Rule
from robota.policy.shell.command_part import CommandPart
from robota.policy.shell.runs_other_programs import escapes, git_directories
from robota.policy.stages import PolicyContext
from robota.protocol.permission_mode import PermissionMode
from robota.workspace.shell.script import Argv
from robota.workspace.shell.wrappers import program

if TYPE_CHECKING:
    from robota.workspace.entry_files.entry import PinnedFile

# These programs treat their arguments as text, so an argument that names a command does not run it.
TAKE_TEXT: Final = frozenset("rm rmdir cp mv mkdir touch ln chmod chown tee curl wget kill unzip gunzip".split())
GIT_TAKES_TEXT: Final = frozenset("add commit tag merge stash checkout switch restore reset".split())
CHANGES_REPOSITORY: Final = frozenset(
    """
    add am apply checkout cherry-pick clean clone commit fetch gc init merge mv pull push rebase reset restore revert rm
    stash switch submodule tag worktree branch bisect notes config remote
    """.split()
)
# These act on everything below a directory in their arguments.
TAKE_WHOLE_DIRECTORIES: Final = frozenset("rm rmdir mv cp chmod chown shred truncate".split())


def rule_against(part: CommandPart, rules: tuple[Rule, ...], context: PolicyContext) -> Rule | None:
    """The first rule that could match anything the command runs, writes or names."""
    return next((rule for rule in rules if _speaks_against(rule, part, context)), None)


class MatchingRule(msgspec.Struct, frozen=True):
    """A rule that matches a command, and the files that must be as they are now for it to match."""

    rule: Rule
    pinned: "tuple[PinnedFile, ...]" = ()


def rule_for(part: CommandPart, rules: tuple[Rule, ...], context: PolicyContext) -> MatchingRule | None:
    """The first rule that matches the whole command, provided that its redirections may be written."""
    if not may_write(part, context):
        return None
    usable = rules if problem_with_git_rule(part, context) is None else [rule for rule in rules if rule.spec is None]
    matches = (_match(rule, part, context) for rule in usable)
    return next((match for match in matches if match is not None), None)


def _match(rule: Rule, part: CommandPart, context: PolicyContext) -> MatchingRule | None:
    if rule.pin is None:
        return MatchingRule(rule) if _speaks_for(rule, part) else None
    from robota.policy.rules.pinned import takes_more_words
    from robota.policy.shell.offered_prefixes import tool_within
    from robota.policy.shell.pinned_commands import pinned_files

    if takes_more_words(rule.spec or "") and escapes(part.command, tool_within(part.inner)):
        return None
    pinned = pinned_files(rule, part, context)
    return None if pinned is None else MatchingRule(rule, pinned)


def problem_with_git_rule(part: CommandPart, context: PolicyContext) -> str | None:
    """Why a rule for certain git commands does not cover this one: the repository may configure other programs to run.

    Commands that change the repository run its hooks and filters anyway, but not those of another repository.
    """
    if program(part.inner) != "git":
        return None
    directories = git_directories(part.inner, part.directories)
    if directories is None:
        return "it tells git which repository to use"
    if directories == (".",) and len(part.inner) > 1 and part.inner[1] in CHANGES_REPOSITORY:
        return None
    return next((problem for each in directories if (problem := context.git_safety(each).problem) is not None), None)


def may_write(part: CommandPart, context: PolicyContext) -> bool:
    """Whether every file that the shell opens for writing may be written without approval."""
    resolver = context.resolver
    locations = [location for _, location in part.locations(part.written, resolver)]
    if context.accepts_edits:
        return all(resolver.inside(location) is not None for location in locations)
    if context.mode is PermissionMode.BYPASS:
        return True
    edits = [rule for rule in (*context.allow, *context.grants) if rule.tool == EDIT]
    return all(
        any(rule.paths is None or resolver.matches(location, rule.paths, broadly=False) for rule in edits)
        for location in locations
    )


def takes_text(part: CommandPart) -> bool:
    """Whether the program is known not to run any of its arguments."""
    if part.looks is not None:
        return True
    if not part.unwrapped.inner:
        return False
    if part.inner[0] == "git":
        return len(part.inner) > 1 and part.inner[1] in GIT_TAKES_TEXT
    return part.inner[0] in TAKE_TEXT


def _speaks_against(rule: Rule, part: CommandPart, context: PolicyContext) -> bool:
    if rule.tool == "*" or rule.is_about_commands_of(part.tool, part.label):
        return rule.spec is None or _could_run(part, pattern_words(rule.spec))
    if rule.paths is None:
        return (rule.speaks_of_all(EDIT) and bool(part.written)) or (rule.speaks_of_all(READ) and bool(part.looked_at))
    # Unless a command is read-only, it could do anything to a file that it names.
    only_reads = part.looks is not None and rule.tool == EDIT
    words = part.written if only_reads else (*part.written, *part.named)
    takes_all = program(part.inner) in TAKE_WHOLE_DIRECTORIES
    return any(
        context.resolver.matches(location, rule.paths, broadly=True)
        or context.resolver.holds_matches(location, rule.paths, at_any_depth=takes_all)
        for _, location in part.locations(words, context.resolver)
    )


def _could_run(part: CommandPart, pattern: Argv) -> bool:
    if begins_with(part.command.argv, pattern) or begins_with(part.inner, pattern):
        return True
    return not takes_text(part) and could_contain(part.command.text, pattern)


def _speaks_for(rule: Rule, part: CommandPart) -> bool:
    if not rule.is_about_commands_of(part.tool, part.label):
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
    """Whether a `*` in the rule would match a flag that makes the program run or write something else."""
    named = {word for word in pattern if "*" not in word}
    if pattern == ("*",) or len(named) == len(set(pattern)):
        return False
    return any(word not in named for word in escapes(part.command, part.inner))
