"""Suggests the narrowest rules that make approval unnecessary, for calls other than shell commands."""

import posixpath
from typing import Final

from robota.contracts.tool import Effect
from robota.contracts.verdict import RuleSuggestion, Subject
from robota.policy.protected.path_resolver import PathResolver
from robota.policy.rules.rule import EDIT, MCP

MAX_RULES: Final = 5


def call_suggestions(subject: Subject, resolver: PathResolver) -> tuple[RuleSuggestion, ...]:
    """Rules to suggest for a call other than a shell command: the name of an MCP tool, or the files of other calls."""
    if subject.tool.startswith(MCP):
        return (RuleSuggestion(rules=(subject.tool,), covers="every call of this tool"),)
    return file_suggestions(subject, resolver)


def file_suggestions(subject: Subject, resolver: PathResolver) -> tuple[RuleSuggestion, ...]:
    """Rules for the files that a call writes."""
    paths_inside = [resolver.inside(path) for path in subject.touches.paths]
    files = list(dict.fromkeys(path for path in paths_inside if path is not None and path != "."))
    if Effect.WRITE not in subject.effects or not files or len(files) > MAX_RULES or not all(map(_is_tame, files)):
        return ()
    exact = tuple(f"{EDIT}(/{path})" for path in files)
    suggestions = [
        RuleSuggestion(rules=exact, covers="exactly this file" if len(files) == 1 else "exactly these files")
    ]
    directories = list(dict.fromkeys(map(posixpath.dirname, files)))
    if all(directories):
        rules = tuple(f"{EDIT}(/{directory}/**)" for directory in directories)
        suggestions.append(RuleSuggestion(rules=rules, covers="every file in the same directory"))
    return tuple(suggestions)


def _is_tame(path: str) -> bool:
    return not set(path) & set("*?[]()!") and path.isprintable()
