"""The objects of a checkpoint store on disk: writing commits, measuring their size, and packing them.

Checkpoints have no refs, so git's own housekeeping would treat all of them as garbage.
"""

import os
from collections.abc import Sequence
from hashlib import sha1
from pathlib import Path
from typing import Final
from zlib import compress

from robota.workspace.checkpoints.private_git import CheckpointError, PrivateGit

# Each loose object costs a block on disk; from this many on they are packed.
MAX_LOOSE_OBJECTS: Final = 2_000
MAX_PACKS: Final = 30
BLOCK_BYTES: Final = 512
# From 2.37 on, git can write all objects of one `update-index` into one pack; before, it wrote a file for each.
FIRST_WITH_BULK: Final = (2, 37)
STRAIGHT_TO_PACK: Final = ("core.bigFileThreshold=1", "pack.compression=1")
PACK: Final = ("pack-objects", "--revs", "-q", "--delta-base-offset")


def writes_in_bulk(git: PrivateGit) -> bool:
    """Whether `STRAIGHT_TO_PACK` has an effect with this version of git."""
    words = git.run("version").decode("utf-8", "replace").split()
    try:
        return tuple(int(part) for part in words[2].split(".")[:2]) >= FIRST_WITH_BULK
    except (IndexError, ValueError):
        return False


def write_commit(git: PrivateGit, tree: str, message: str, now_s: int) -> str:
    """Write a commit object for a tree ourselves: starting git for it would take longer."""
    who = f"robota <robota@invalid> {now_s} +0000"
    content = f"tree {tree}\nauthor {who}\ncommitter {who}\n\n{message}".encode()
    data = b"commit %d\0%s" % (len(content), content)
    name = sha1(data, usedforsecurity=False).hexdigest()
    path = git.directory / "objects" / name[:2] / name[2:]
    if not path.exists():
        path.parent.mkdir(mode=0o700, exist_ok=True)
        draft = path.with_name(f"tmp_obj_{os.urandom(4).hex()}")
        draft.write_bytes(compress(data, 1))
        draft.chmod(0o444)
        draft.rename(path)
    return name


def bytes_on_disk(git: PrivateGit) -> int:
    """The size of all objects on disk."""
    return sum(status.st_blocks * BLOCK_BYTES for status in map(_status, _files(git)) if status is not None)


def needs_packing(git: PrivateGit) -> bool:
    """Whether there are many loose objects."""
    loose = sum(1 for path in _files(git) if path.parent.name != "pack")
    return loose > MAX_LOOSE_OBJECTS


def needs_rewriting(git: PrivateGit) -> bool:
    """Whether there are many packs."""
    return len(_packs(git)) > MAX_PACKS


def pack_loose(git: PrivateGit, checkpoints: Sequence[str]) -> None:
    """Put all loose objects into one pack."""
    _pack(git, checkpoints, "--incremental", "--window=10")
    git.run("prune-packed", "-q")


def keep_only(git: PrivateGit, checkpoints: Sequence[str]) -> None:
    """Remove every object that is in none of these checkpoints. Existing deltas are reused; none are computed."""
    before = _files(git)
    pack = _pack(git, checkpoints, "--window=0")
    for path in before:
        if path.stem != pack:
            path.unlink(missing_ok=True)


def _pack(git: PrivateGit, checkpoints: Sequence[str], *options: str) -> str:
    """Write a pack and return its name; empty if there was nothing to write."""
    heads = "".join(f"{checkpoint}\n" for checkpoint in dict.fromkeys(checkpoints)).encode()
    pack_prefix = git.directory / "objects/pack/pack"
    name = git.run(*PACK, *options, "--non-empty", str(pack_prefix), stdin=heads).decode().strip()
    if not name and "--incremental" not in options:
        raise CheckpointError("The checkpoints could not be packed. They were not changed")
    return f"pack-{name}"


def _files(git: PrivateGit) -> list[Path]:
    return [Path(directory, name) for directory, _, names in os.walk(git.directory / "objects") for name in names]


def _packs(git: PrivateGit) -> list[Path]:
    return [path for path in _files(git) if path.suffix == ".pack"]


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None
