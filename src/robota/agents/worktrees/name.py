"""Names of worktrees, from which those of directories, branches and locks are derived."""

import re
from typing import Final

from robota.agents.worktrees.errors import WorktreeError

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
BRANCH_PREFIX: Final = "worktree-"
RANDOM_BYTES: Final = 6
QUALITIES: Final = ("amber", "brisk", "calm", "clear", "deft", "eager", "fair", "keen", "lucid", "neat", "swift")
THINGS: Final = ("badger", "brook", "cedar", "falcon", "harbor", "heron", "maple", "meadow", "otter", "river", "willow")


def branch_of(name: str) -> str:
    """The branch of the worktree with this name."""
    return BRANCH_PREFIX + name


def check_name(name: str) -> None:
    """Raise `WorktreeError` unless the text is valid as the name of a directory and of a branch."""
    if NAME.fullmatch(name) is None:
        raise WorktreeError(
            f"{name!r} is not a valid worktree name. Use letters, digits, '_' and '-', begin with a letter or a "
            "digit, at most 64 characters. Nothing was started. A prompt right after -w is taken for the name: "
            'write robota -w -p "…"'
        )


def new_name(random_bytes: bytes) -> str:
    """A memorable pair of words and an id that makes it unique, from six random bytes."""
    quality = QUALITIES[random_bytes[0] % len(QUALITIES)]
    thing = THINGS[random_bytes[1] % len(THINGS)]
    return f"{quality}-{thing}-{random_bytes[2:6].hex()}"
