"""The files of a workspace that are hidden from commands in the sandbox, because they are hidden from the model."""

from collections import Counter
from pathlib import PurePosixPath
from typing import Final

from robota.policy.decide import SessionPolicy
from robota.policy.rules.rule import READ

CURRENT: Final = "."


def hidden_files(policy: SessionPolicy) -> tuple[str, ...] | None:
    """Paths from the root on, of files and of directories all of whose files are kept; None if nobody can tell.

    Kept is what a deny rule for reading or `.robotaignore` names, and what policy asks about because of its name: files
    named like secrets, unless git has them as they are, or a rule allows reading them.
    """
    below = policy.files.below
    places = () if below is None else below(CURRENT)
    if places is None:
        return None
    secrets = [place for place in policy.files.secrets_among(places) if not _may_be_read(policy, place)]
    if not policy.files.ignores_any() and not any(rule.tool == READ for rule in policy.rules.deny):
        return tuple(secrets)
    kept = [place for place in places if policy.forbids_reading(place) or policy.files.is_ignored(place)]
    return tuple(dict.fromkeys((*_joined(kept, places), *secrets)))


def _may_be_read(policy: SessionPolicy, place: str) -> bool:
    rules = [rule for rule in policy.rules.allow if rule.tool == READ]
    return any(
        rule.paths is None or policy.resolver.matches(place, rule.paths, broadly=False)
        for rule in rules
        if rule.paths is not None or rule.speaks_of_all(READ)
    )


def _joined(kept: list[str], places: tuple[str, ...]) -> list[str]:
    """The same with directories in place of files, where a directory holds nothing else."""
    all_files = Counter(str(above) for place in places for above in PurePosixPath(place).parents)
    kept_files = Counter(str(above) for place in kept for above in PurePosixPath(place).parents)
    whole = {above for above, number in kept_files.items() if above != CURRENT and all_files[above] == number > 1}
    outermost = (
        next((str(above) for above in reversed(PurePosixPath(place).parents) if str(above) in whole), place)
        for place in kept
    )
    return list(dict.fromkeys(outermost))
