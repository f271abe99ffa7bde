"""Lists the files of a workspace that are hidden from sandboxed commands, because the model must not read them."""

from collections import Counter
from pathlib import PurePosixPath
from typing import Final

from robota.policy.decide import SessionPolicy
from robota.policy.rules.rule import READ
from robota.workspace.files.found_files import MAX_SEARCHED, find_files
from robota.workspace.files.ignore import is_ignore_file

CURRENT: Final = "."


def hidden_files(policy: SessionPolicy) -> tuple[str, ...] | None:
    """Relative paths of hidden files, and of directories in which every file is hidden; None if they are unknown.

    Hidden are files that a deny rule for reading or `.robotaignore` names, and files named like secrets, unless they
    are committed unchanged or a rule allows reading them. Directories that cannot be read are hidden too: what is in
    them is unknown, and a command could change their mode.
    """
    names = find_files(str(policy.resolver.root), CURRENT, MAX_SEARCHED)
    if names is None:
        return None  # commands are refused: they could read what was not found
    places = names.files
    secrets = [*names.unreadable, *_secrets(policy, places)]
    ignores_any = any(map(is_ignore_file, places)) or policy.files.ignores_any()
    if not ignores_any and not any(rule.tool == READ for rule in policy.rules.deny):
        return tuple(secrets)
    hidden = [place for place in places if policy.forbids_reading(place) or policy.files.is_ignored(place)]
    return tuple(dict.fromkeys((*_joined_by_directory(hidden, places), *secrets)))


def _secrets(policy: SessionPolicy, places: tuple[str, ...]) -> list[str]:
    return [place for place in policy.files.secrets_among(places) if not _may_be_read(policy, place)]


def _may_be_read(policy: SessionPolicy, place: str) -> bool:
    rules = [rule for rule in policy.rules.allow if rule.tool == READ]
    return any(
        rule.paths is None or policy.resolver.matches(place, rule.paths, broadly=False)
        for rule in rules
        if rule.paths is not None or rule.speaks_of_all(READ)
    )


def _joined_by_directory(hidden: list[str], places: tuple[str, ...]) -> list[str]:
    """Replace files by their directory where it contains only hidden files."""
    all_files = Counter(str(above) for place in places for above in PurePosixPath(place).parents)
    hidden_count = Counter(str(above) for place in hidden for above in PurePosixPath(place).parents)
    whole = {above for above, number in hidden_count.items() if above != CURRENT and all_files[above] == number > 1}
    outermost = (
        next((str(above) for above in reversed(PurePosixPath(place).parents) if str(above) in whole), place)
        for place in hidden
    )
    return list(dict.fromkeys(outermost))
