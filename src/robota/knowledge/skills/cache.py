"""A cache of parsed skills between sessions. Losing it only costs the time to read the files again."""

import contextlib
from pathlib import Path

import msgspec

from robota.config.durable_file import read_file
from robota.config.transaction import transaction
from robota.knowledge.skills.skill import Skill


def load_skill_cache(path: Path) -> dict[str, Skill]:
    """The cached skills, by the key of `SkillFinder`; empty if the cache is missing or damaged."""
    try:
        return msgspec.json.decode(read_file(path), type=dict[str, Skill])
    except (OSError, msgspec.MsgspecError, ValueError):
        return {}


def save_skill_cache(path: Path, skills: dict[str, Skill]) -> None:
    """Replace the cache. A failure is ignored: the cache is an optimisation."""
    with contextlib.suppress(OSError), transaction(path.parent) as files:
        files.write(path.name, msgspec.json.encode(skills))
