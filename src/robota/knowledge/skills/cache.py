"""What was read of many skills, kept for the next session. Lost or wrong it costs only the time to read them again."""

import contextlib
from pathlib import Path

import msgspec

from robota.config.durable_file import make_private_directory, read_file, replace_file
from robota.knowledge.skills.skill import Skill


def cached_skills(path: Path) -> dict[str, Skill]:
    """The skills of the last session that had many, by place, path and version of their files."""
    try:
        return msgspec.json.decode(read_file(path), type=dict[str, Skill])
    except (OSError, msgspec.MsgspecError, ValueError):
        return {}


def keep_skills(path: Path, skills: dict[str, Skill]) -> None:
    """Keep them; that they cannot be kept is no reason to stop."""
    with contextlib.suppress(OSError):
        make_private_directory(path.parent)
        replace_file(path, msgspec.json.encode(skills))
