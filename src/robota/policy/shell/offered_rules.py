"""Which rules to offer for a command that needs approval, or why there is none."""

import re
import shlex
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from robota.contracts.verdict import Decision, RuleSuggestion, Verdict
from robota.policy.rules.command_match import is_plain_word
from robota.policy.rules.rule import EDIT
from robota.policy.rules.suggest import MAX_RULES, is_tame_path
from robota.policy.shell.command_part import CommandPart
from robota.policy.shell.command_rules import may_write, problem_with_git_rule
from robota.policy.shell.offered_prefixes import SUBCOMMANDS, pinned_prefix, prefixes_to_offer, tool_within
from robota.policy.shell.readonly import is_known
from robota.policy.shell.runs_other_programs import escapes, runs_anything
from robota.policy.stages import ASKED_EVERY_TIME, PolicyContext
from robota.workspace.outside_program import CODE_DIRECTORIES, CODE_SETTINGS
from robota.workspace.shell.script import Argv, is_assignment
from robota.workspace.shell.wrappers import program

# Sub-commands that run what a project file, or the next word, specifies.
RUNS_WHAT_IT_IS_TOLD: Final = frozenset(
    "run rum urn t tst exec x dlx start config alias extension bisect submodule filter-branch generate tool api "
    "verify-commit verify-tag request-pull".split()
)
EXACTLY: Final = "exactly this command"
ALIKE: Final = "all commands that start like this"
NAMES_SHOWN: Final = 3
# They run what their own file says, with whatever words.
RUN_THEIR_FILE: Final = frozenset({"tox", "nox"})
# Of the programs that could do anything, these do only what their words say.
WORDS_SAY_ALL: Final = frozenset("rm rmdir shred dd chmod chown curl wget kill pkill killall find".split())

UNKNOWN_WORDS: Final = "its words depend on which files there are"
UNKNOWN_PROGRAM: Final = "what it runs cannot be told from its words"
NO_PREFIX: Final = "other arguments could make it do more"
TOO_LONG: Final = "it is too long to be shown as a rule"
WRITES_OUTSIDE: Final = "it writes to a file that no rule can name"
TOO_MANY: Final = "it has too many parts"


MAX_WORDS_LENGTH: Final = 300
CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")


class RuleOffer(msgspec.Struct, frozen=True, kw_only=True):
    """Rules for one simple command, and what they depend on."""

    rules: tuple[str, ...]
    names: tuple[str, ...] = ()


class NoRule(msgspec.Struct, frozen=True):
    """Why there is no rule, as words to follow a colon."""

    why: str


def offered_rules(judged: Sequence[tuple[CommandPart, Verdict]], context: PolicyContext) -> Verdict:
    """The rules for exactly these commands, and those for commands alike where they are safe; or why there is none.

    Both are in a verdict to take them from.
    """
    asking = list({_identity(part): (part, verdict) for part, verdict in judged if _asks(verdict)}.values())
    exact = [_exact(part, verdict, context) for part, verdict in asking]
    problem = next((offer.why for offer in exact if isinstance(offer, NoRule)), "")
    alike = [_alike(part, verdict, context) for part, verdict in asking]
    sets = [_together(offers, words) for offers, words in ((exact, EXACTLY), (alike, ALIKE))]
    usable = tuple(each for each in sets if each is not None and len(each.rules) <= MAX_RULES)
    why = "" if usable else problem or TOO_MANY
    return Verdict(decision=Decision.ASK, reason="", suggestions=usable, no_rule=why)


def _identity(part: CommandPart) -> tuple[object, ...]:
    return part.command.argv, part.directories, part.written


def _asks(verdict: Verdict) -> bool:
    return verdict.decision is Decision.ASK


def _together(offers: Sequence[RuleOffer | NoRule], covers: str) -> RuleSuggestion | None:
    rule_offers = [offer for offer in offers if isinstance(offer, RuleOffer)]
    if not rule_offers or len(rule_offers) < len(offers):
        return None
    names = tuple(dict.fromkeys(name for offer in rule_offers for name in offer.names))
    rules = tuple(dict.fromkeys(rule for offer in rule_offers for rule in offer.rules))
    return RuleSuggestion(rules=rules, covers=f"{covers}{_while_unchanged(names)}")


def _while_unchanged(names: Sequence[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return f", while {', '.join(names[:NAMES_SHOWN])}{more} {'is' if len(names) == 1 else 'are'} unchanged"


def _exact(part: CommandPart, verdict: Verdict, context: PolicyContext) -> RuleOffer | NoRule:
    problem = _problem(part, verdict, context) or (UNKNOWN_WORDS if part.command.globs else None)
    if problem is not None:
        return NoRule(problem)
    written = _rules_for_written(part, context) or ()
    if not _needs_pin(part) and pinned_prefix(part.inner) is None:
        return _by_words(part, written)
    from robota.policy.rules.pinned import pinned_rule
    from robota.policy.shell.pinned_commands import NoEntry, entry_of

    entry = entry_of(part, context)
    if isinstance(entry, NoEntry):
        return NoRule(entry.why) if _needs_pin(part) else _by_words(part, written)
    return RuleOffer(rules=(pinned_rule(part.command.argv, entry.digest), *written), names=entry.names)


def _by_words(part: CommandPart, written: tuple[str, ...]) -> RuleOffer:
    return RuleOffer(rules=(f"Bash({' '.join(part.command.argv)})", *written))


def _alike(part: CommandPart, verdict: Verdict, context: PolicyContext) -> RuleOffer | NoRule:
    """A rule that takes further words, for programs that no further word can make do more."""
    if (problem := _problem(part, verdict, context)) is not None:
        return NoRule(problem)
    written = _rules_for_written(part, context) or ()
    words = pinned_prefix(part.inner) if part.inner == part.command.argv and not part.command.globs else None
    if escapes(part.command, tool_within(part.inner)):
        return NoRule(NO_PREFIX)
    if words is not None and (pinned := _pinned_alike(words, part, written, context)) is not None:
        return pinned
    prefixes = () if _does_more(part) else prefixes_to_offer(part.inner)
    if not prefixes:
        return NoRule(NO_PREFIX)
    return RuleOffer(rules=(*_rules(f"{' '.join(words)} *" for words in prefixes), *written))


def _pinned_alike(words: Argv, part: CommandPart, written: tuple[str, ...], context: PolicyContext) -> RuleOffer | None:
    from robota.policy.rules.pinned import pinned_rule
    from robota.policy.shell.pinned_commands import NoEntry, entry_of

    entry = entry_of(part, context)
    if isinstance(entry, NoEntry):
        return None
    return RuleOffer(rules=(pinned_rule(words, entry.digest, with_more_words=True), *written), names=entry.names)


def _problem(part: CommandPart, verdict: Verdict, context: PolicyContext) -> str | None:
    if verdict.rule is not None:
        return ASKED_EVERY_TIME
    if not part.unwrapped.inner or not (part.unwrapped.faithful or _only_sets_variables(part)):
        return UNKNOWN_PROGRAM
    if runs_anything(part.inner) and not _is_understood(part):
        return UNKNOWN_PROGRAM
    if not _can_be_shown(part.command.argv):
        return TOO_LONG
    if (problem := problem_with_git_rule(part, context)) is not None:
        return problem
    return WRITES_OUTSIDE if _rules_for_written(part, context) is None else None


def _can_be_shown(argv: Sequence[str]) -> bool:
    text = shlex.join(argv)
    return len(text) <= MAX_WORDS_LENGTH and CONTROL.search(text) is None


def _only_sets_variables(part: CommandPart) -> bool:
    """Whether all that precedes the program are variables that make it load nothing; they are words of the rule."""
    argv = part.command.argv
    before = argv[1 : len(argv) - len(part.inner)]
    return (
        argv[0] == "env"
        and all(map(is_assignment, before))
        and all(word.partition("=")[0] not in CODE_DIRECTORIES | CODE_SETTINGS for word in before)
    )


def _is_understood(part: CommandPart) -> bool:
    """Whether its words, or files that can be found, say what the program does."""
    if program(part.inner) in WORDS_SAY_ALL:
        return set(escapes(part.command, part.inner)) <= {"-delete"}
    from robota.workspace.entry_files.finding import knows_entry_of

    return knows_entry_of(part.inner)


def _rules_for_written(part: CommandPart, context: PolicyContext) -> tuple[str, ...] | None:
    """Rules for the files that the shell opens for writing, unless they may be written anyway; None if none can."""
    if may_write(part, context):
        return ()
    paths = [context.resolver.inside(location) for _, location in part.locations(part.written, context.resolver)]
    rules = tuple(dict.fromkeys(f"{EDIT}(/{path})" for path in paths if path and is_tame_path(path)))
    return rules if len(rules) == len(set(paths)) else None


def _needs_pin(part: CommandPart) -> bool:
    """Whether more than its words decides what it does, or they cannot be written without quotes."""
    argv = part.inner
    if not part.unwrapped.faithful or not all(map(is_plain_word, part.command.argv)):
        return True
    if runs_anything(argv) or "/" in argv[0] or program(argv) in RUN_THEIR_FILE:
        return True
    is_told = len(argv) < 2 or (argv[1] in RUNS_WHAT_IT_IS_TOLD or not argv[1].isalpha())
    return program(argv) in SUBCOMMANDS and is_told


def _does_more(part: CommandPart) -> bool:
    """Whether its flags make it do more than its name suggests; then only a rule for the exact command is offered."""
    return is_known(part.inner) or bool(escapes(part.command, part.inner))


def _rules(patterns: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"Bash({pattern})" for pattern in patterns))
