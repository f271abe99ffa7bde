"""The narrowest rules that would stop a question. Never for what can run anything."""

import posixpath
from collections.abc import Iterable, Sequence
from typing import Final

from robota.contracts.tool import Effect
from robota.contracts.verdict import Decision, RuleSuggestion, Subject, Verdict
from robota.policy.protected.path_resolver import Places
from robota.policy.rules.command_match import is_plain_word
from robota.policy.rules.rule import EDIT, MCP
from robota.policy.shell.escapes import escapes
from robota.policy.shell.part import CommandPart
from robota.policy.shell.readonly import is_known
from robota.policy.shell.runs_anything import runs_anything
from robota.workspace.shell.script import Argv
from robota.workspace.shell.wrappers import program

MAX_RULES: Final = 5
# Here the second word says what is done, and the first alone would allow too much; of `gh`, the second and the third.
HAS_SUBCOMMANDS: Final = frozenset(
    """
    git npm pnpm yarn cargo go pip pip3 uv poetry gh gradle mvn dotnet terraform helm brew apt apt-get rustup ruff
    """.split()
)
HAS_SUBCOMMANDS_OF_THEM: Final = frozenset({"gh"})
# Sub-commands that run whatever a file of the project, or the next word, says.
RUNS_WHAT_IT_IS_TOLD: Final = frozenset(
    "run exec x dlx start config alias extension bisect submodule filter-branch generate tool api".split()
)
# With other words these bring foreign code, write anywhere or destroy: only the very command is offered.
ONLY_EXACTLY: Final = frozenset("cp mv ln tee install truncate tar zip unzip sed less more man patch".split())
ONLY_EXACTLY_WITHIN: Final = frozenset(
    """
    install add i ci create init get update upgrade clone clean reset rebase apply am remote worktree gc prune reflog
    update-ref difftool mergetool archive destroy publish import pip remove uninstall delete
    """.split()
)


def command_suggestions(judged: Sequence[tuple[CommandPart, Verdict]]) -> tuple[RuleSuggestion, ...]:
    """One set of rules for just these commands, and one for commands that begin alike, if they are safe to offer."""
    asking = [(part, verdict) for part, verdict in judged if verdict.decision is Decision.ASK]
    if any(verdict.rule is not None or part.written or not _may_be_offered(part) for part, verdict in asking):
        return ()
    exact = _rules(" ".join(part.command.argv) for part, _ in asking if _can_be_written(part))
    prefix = _rules(f"{' '.join(_prefix(part.inner))} *" for part, _ in asking)
    sets = []
    if len(exact) == len(_distinct(asking)):
        sets.append(RuleSuggestion(rules=exact, covers="exactly this"))
    if all(_may_begin_alike(part) for part, _ in asking):
        sets.append(RuleSuggestion(rules=prefix, covers="everything that begins like this"))
    return tuple(each for each in sets if len(each.rules) <= MAX_RULES)


def call_suggestions(subject: Subject, places: Places) -> tuple[RuleSuggestion, ...]:
    """Rules for a call that is no shell command: for a tool of an MCP server its name, for others the files."""
    if subject.tool.startswith(MCP):
        return (RuleSuggestion(rules=(subject.tool,), covers="every call of this tool"),)
    return file_suggestions(subject, places)


def file_suggestions(subject: Subject, places: Places) -> tuple[RuleSuggestion, ...]:
    """Rules for the files of a call that writes some."""
    found = [places.inside(path) for path in subject.touches.paths]
    files = list(dict.fromkeys(path for path in found if path not in {None, "."}))
    if Effect.WRITE not in subject.effects or not files or len(files) > MAX_RULES or not all(map(_is_tame, files)):
        return ()
    exact = tuple(f"{EDIT}(/{path})" for path in files)
    suggestions = [
        RuleSuggestion(rules=exact, covers="exactly this file" if len(files) == 1 else "exactly these files")
    ]
    directories = list(dict.fromkeys(posixpath.dirname(path or "") for path in files))
    if all(directories):
        rules = tuple(f"{EDIT}(/{directory}/**)" for directory in directories)
        suggestions.append(RuleSuggestion(rules=rules, covers="every file in the same directory"))
    return tuple(suggestions)


def _may_be_offered(part: CommandPart) -> bool:
    name = program(part.inner)
    if not part.unwrapped.inner or not part.unwrapped.faithful or runs_anything(part.inner):
        return False
    if "/" in part.inner[0]:
        return False
    if name in HAS_SUBCOMMANDS:
        return len(part.inner) > 1 and part.inner[1].isalpha() and part.inner[1] not in RUNS_WHAT_IT_IS_TOLD
    return True


def _may_begin_alike(part: CommandPart) -> bool:
    """Not for a command that looks: with other flags it can do anything, which is why this one was not simply run."""
    if is_known(part.inner) or escapes(part.command, part.inner):
        return False
    name = program(part.inner)
    if name in HAS_SUBCOMMANDS and part.inner[:2] != ("git", "add"):
        return part.inner[1] not in ONLY_EXACTLY_WITHIN
    return name not in ONLY_EXACTLY


def _can_be_written(part: CommandPart) -> bool:
    return not part.command.globs and all(is_plain_word(word) for word in part.command.argv)


def _prefix(argv: Argv) -> Argv:
    if program(argv) in HAS_SUBCOMMANDS_OF_THEM:
        return argv[:3]
    return argv[:2] if program(argv) in HAS_SUBCOMMANDS else argv[:1]


def _rules(patterns: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"Bash({pattern})" for pattern in patterns))


def _distinct(asking: Iterable[tuple[CommandPart, Verdict]]) -> set[Argv]:
    return {part.command.argv for part, _ in asking}


def _is_tame(path: str | None) -> bool:
    return path is not None and not set(path) & set("*?[]()!") and path.isprintable()
