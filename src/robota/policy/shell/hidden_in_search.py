"""Whether a command that searches directories or git history would read files that are hidden from the model."""

from typing import Final

from robota.contracts.verdict import Verdict
from robota.policy.protected.path_resolver import KeptFiles
from robota.policy.rules.rule import READ
from robota.policy.shell.command_part import CommandPart
from robota.policy.shell.readonly import Search
from robota.policy.stages import PolicyContext, ask

# Above this number, comparing every name with every rule takes too long.
MAX_COMPARED_NAMES: Final = 1_500
IGNORE_FILE: Final = ".robotaignore"


def hidden_in_search(part: CommandPart, context: PolicyContext) -> Verdict | None:
    """An ask, if the search may read what a deny rule or `.robotaignore` hides from the model."""
    search = part.looks.search if part.looks is not None else None
    rules = tuple(rule for rule in context.deny if rule.tool == READ and rule.paths)
    if search is None or not (rules or context.files.ignores_any()):
        return None
    keeper = f"the deny rule {rules[0].text}" if rules else IGNORE_FILE
    if search.history:
        return ask(f"It prints earlier versions of files, which may include files covered by {keeper}.", "kept files")
    files = _all_files(search, part, context)
    if context.files.below is None or files is None or len(files) * (len(rules) + 1) > MAX_COMPARED_NAMES:
        return ask(f"It reads whole directories, which may contain files covered by {keeper}.", "kept files")
    for path in files:
        rule = next((each for each in rules if context.resolver.matches(path, each.paths or "", broadly=True)), None)
        if rule is not None:
            return ask(f"It would read {path!r}, which is covered by the deny rule {rule.text}.", "kept files")
        if context.files.is_ignored(path):
            return ask(f"It would read {path!r}, which {IGNORE_FILE} hides from the model.", "kept files")
    return None


def secret_in_search(part: CommandPart, context: PolicyContext) -> str | None:
    """Why a search needs approval because of files whose names suggest secrets; None if it does not."""
    search = part.looks.search if part.looks is not None else None
    files = _all_files(search, part, context) if search is not None else []
    if files is None:
        return "It reads whole directories with too many files to check."
    secret = next(context.files.secrets_among(files), None)
    if secret is None:
        return None
    return f"It would read {secret!r}, which may contain secrets. Without that file it needs no approval."


def _all_files(search: Search, part: CommandPart, context: PolicyContext) -> list[str] | None:
    """The files that would be read; None if there are too many to list."""
    paths: list[str] = []
    for start in _starts(search, part, context):
        files = _files_in(search, start, context.files)
        if files is None:
            return None
        paths += files
    return paths


def _starts(search: Search, part: CommandPart, context: PolicyContext) -> list[str]:
    """Where the search starts: each path as written, resolved through links, and expanded from patterns."""
    paths = (location for _, location in part.locations(search.paths, context.resolver))
    return list(dict.fromkeys(path for path in map(context.resolver.inside, paths) if path is not None))


def _files_in(search: Search, start: str, files: KeptFiles) -> list[str] | None:
    """The files that would be read; None if there are too many to list."""
    if files.below is None or files.tracked is None:
        return []
    listed = files.tracked() if search.tracked else files.below(start)
    if listed is None:
        return None
    prefix = "" if start == "." else f"{start}/"
    unhidden = () if search.hidden else files.unhidden(start, listed)
    return [
        path
        for path in listed
        if path == start or (path.startswith(prefix) and search.reads(path.removeprefix(prefix), unhidden))
    ]
