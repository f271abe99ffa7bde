"""Suggests the narrowest rules that make approval unnecessary, for calls other than shell commands."""

import posixpath
from typing import Final

from robota.contracts.tool import Effect
from robota.contracts.verdict import RuleSuggestion, Subject
from robota.policy.protected.path_resolver import PathResolver
from robota.policy.rules.rule import DOMAIN, EDIT, MCP, READ

MAX_RULES: Final = 5


def call_suggestions(subject: Subject, resolver: PathResolver) -> tuple[RuleSuggestion, ...]:
    """Rules to suggest for a call other than a shell command: the name of an MCP tool, a host, or files."""
    if subject.tool.startswith(MCP):
        return (RuleSuggestion(rules=(subject.tool,), covers="every call of this tool"),)
    if host := subject.touches.host:
        return (RuleSuggestion(rules=(f"{subject.label}({DOMAIN}{host})",), covers="every page of this host"),)
    return file_suggestions(subject, resolver)


def file_suggestions(subject: Subject, resolver: PathResolver) -> tuple[RuleSuggestion, ...]:
    """Rules for the files that a call writes."""
    paths_inside = [resolver.inside(path) for path in subject.touches.paths]
    files = list(dict.fromkeys(path for path in paths_inside if path is not None and path != "."))
    if Effect.WRITE not in subject.effects or not files or len(files) > MAX_RULES or not all(map(is_tame_path, files)):
        return ()
    exact = tuple(f"{EDIT}(/{path})" for path in files)
    suggestions = [
        RuleSuggestion(rules=exact, covers="exactly this file" if len(files) == 1 else "exactly these files")
    ]
    directories = list(dict.fromkeys(map(posixpath.dirname, files)))
    if all(directories):
        rules = tuple(f"{EDIT}(/{directory}/**)" for directory in directories)
        suggestions.append(RuleSuggestion(rules=rules, covers="every file in the same directory"))
    suggestions.append(RuleSuggestion(rules=(EDIT,), covers="every file of the workspace, as in acceptEdits"))
    return tuple(suggestions)


def outside_suggestions(subject: Subject, resolver: PathResolver) -> tuple[RuleSuggestion, ...]:
    """Rules for reading outside the workspace: exactly what the call reads, then the directory that it is in."""
    places = tuple(dict.fromkeys(resolver.absolute(path) for path in subject.touches.paths))
    if (
        any(resolver.inside(place) is not None or not is_tame_path(place) for place in places)
        or len(places) > MAX_RULES
    ):
        return ()
    is_directory = any(resolver.may_be_directory(place, ".") for place in places)
    covers = "everything in this directory" if is_directory else "exactly this file"
    exact = RuleSuggestion(rules=tuple(f"{READ}(/{place})" for place in places), covers=covers)
    around = tuple(dict.fromkeys(map(posixpath.dirname, places)))
    is_broad = any(resolver.home and resolver.home.is_relative_to(place) for place in around)
    if is_directory or is_broad:
        return (exact,)
    return exact, RuleSuggestion(
        rules=tuple(f"{READ}(/{place})" for place in around), covers="everything in its directory"
    )


def is_tame_path(path: str) -> bool:
    """Whether a path means only itself in a rule."""
    return not set(path) & set("*?[]()!") and path.isprintable()
