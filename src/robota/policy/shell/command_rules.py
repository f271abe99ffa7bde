"""Rules and shell commands: which rules allow a command, which forbid it, and which to suggest for it."""

from collections.abc import Iterable, Sequence
from typing import Final

from robota.contracts.verdict import Decision, RuleSuggestion, Verdict
from robota.policy.rules.command_match import begins_with, could_contain, is_plain_word, matches_exactly, pattern_words
from robota.policy.rules.rule import EDIT, READ, Rule
from robota.policy.rules.suggest import MAX_RULES
from robota.policy.shell.command_part import CommandPart
from robota.policy.shell.offered_prefixes import SUBCOMMANDS, prefix_to_offer
from robota.policy.shell.readonly import is_known
from robota.policy.shell.runs_other_programs import escapes, git_directories, runs_anything
from robota.policy.stages import PolicyContext
from robota.protocol.permission_mode import PermissionMode
from robota.workspace.shell.script import Argv
from robota.workspace.shell.wrappers import program

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
# Sub-commands that run what a project file, or the next word, specifies.
RUNS_WHAT_IT_IS_TOLD: Final = frozenset(
    "run exec x dlx start config alias extension bisect submodule filter-branch generate tool api verify-commit "
    "verify-tag request-pull".split()
)


def rule_against(part: CommandPart, rules: tuple[Rule, ...], context: PolicyContext) -> Rule | None:
    """The first rule that could match anything the command runs, writes or names."""
    return next((rule for rule in rules if _speaks_against(rule, part, context)), None)


def rule_for(part: CommandPart, rules: tuple[Rule, ...], context: PolicyContext) -> Rule | None:
    """The first rule that matches the whole command, provided that its redirections may be written."""
    if not may_write(part, context):
        return None
    matching = next((rule for rule in rules if _speaks_for(rule, part)), None)
    if matching is None or matching.spec is None or problem_with_git_rule(part, context) is None:
        return matching
    return next((rule for rule in rules if rule.spec is None and _speaks_for(rule, part)), None)


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
    if context.mode is PermissionMode.ACCEPT_EDITS:
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


def command_suggestions(
    judged: Sequence[tuple[CommandPart, Verdict]], context: PolicyContext
) -> tuple[RuleSuggestion, ...]:
    """A set of rules for exactly these commands, and one for commands with the same prefixes, where they are safe."""
    asking = [(part, verdict) for part, verdict in judged if verdict.decision is Decision.ASK]
    if any(verdict.rule is not None or part.written or not _may_be_offered(part) for part, verdict in asking):
        return ()
    if any(problem_with_git_rule(part, context) is not None for part, _ in asking):
        return ()
    exact = _rules(" ".join(part.command.argv) for part, _ in asking if _can_be_written(part))
    prefixes = [words for part, _ in asking if not _does_more(part) and (words := prefix_to_offer(part.inner))]
    sets = []
    if len(exact) == len({part.command.argv for part, _ in asking}):
        sets.append(RuleSuggestion(rules=exact, covers="exactly this command"))
    if len(prefixes) == len(asking):
        alike = _rules(f"{' '.join(words)} *" for words in prefixes)
        sets.append(RuleSuggestion(rules=alike, covers="all commands that start like this"))
    return tuple(each for each in sets if len(each.rules) <= MAX_RULES)


def _speaks_against(rule: Rule, part: CommandPart, context: PolicyContext) -> bool:
    if rule.is_about_commands or rule.tool in {part.label, "*"}:
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
    """Whether a `*` in the rule would match a flag that makes the program run or write something else."""
    named = {word for word in pattern if "*" not in word}
    if pattern == ("*",) or len(named) == len(set(pattern)):
        return False
    return any(word not in named for word in escapes(part.command, part.inner))


def _may_be_offered(part: CommandPart) -> bool:
    name = program(part.inner)
    if not part.unwrapped.inner or not part.unwrapped.faithful or runs_anything(part.inner):
        return False
    if "/" in part.inner[0]:
        return False
    if name in SUBCOMMANDS:
        return len(part.inner) > 1 and part.inner[1].isalpha() and part.inner[1] not in RUNS_WHAT_IT_IS_TOLD
    return True


def _does_more(part: CommandPart) -> bool:
    """Whether its flags make it do more than its name suggests; then only a rule for the exact command is offered."""
    return is_known(part.inner) or bool(escapes(part.command, part.inner))


def _can_be_written(part: CommandPart) -> bool:
    return not part.command.globs and all(is_plain_word(word) for word in part.command.argv)


def _rules(patterns: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"Bash({pattern})" for pattern in patterns))
