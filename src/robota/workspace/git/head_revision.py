"""The current commit of a checkout, read from git's files without starting a process."""

import re
from pathlib import Path
from typing import Final

from robota.workspace.git.git_directories import find_git_directories, read_small

REVISION: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
REF: Final = re.compile(r"ref: (refs/[^\s:?*\\^~]+)")
MAX_PACKED_REFS_BYTES: Final = 8 * 1024 * 1024


def head_revision(root: Path) -> str | None:
    """The commit of HEAD; None if there is none, or no repository that provably belongs to the workspace."""
    directories = find_git_directories(root)
    if directories is None:
        return None
    try:
        head = read_small(directories.own / "HEAD").strip()
        ref = REF.fullmatch(head)
        if ref is None:
            return head if REVISION.fullmatch(head) else None
        return _loose(directories.common, ref[1]) or _packed(directories.common, ref[1])
    except (OSError, ValueError):
        return None


def _loose(common: Path, ref: str) -> str | None:
    if ".." in ref.split("/"):
        return None
    try:
        revision = read_small(common / ref).strip()
    except OSError:
        return None
    return revision if REVISION.fullmatch(revision) else None


def _packed(common: Path, ref: str) -> str | None:
    with (common / "packed-refs").open("rb") as file:
        lines = file.read(MAX_PACKED_REFS_BYTES).decode("utf-8", "replace").splitlines()
    for line in lines:
        revision, _, name = line.partition(" ")
        if name == ref and REVISION.fullmatch(revision):
            return revision
    return None
