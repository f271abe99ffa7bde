"""The files of a working tree as a tree of git: tracked and untracked ones, except those that git ignores."""

import asyncio
import shutil
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from robota.workspace.git.run import Git

ADDING_S: Final = 600.0


async def tree_of_files(git: Git) -> str:
    """The id of the tree. `git` runs at the top of the working tree, whose own index stays as it is.

    Raises `GitError`.
    """
    index = Path(git.directory, await git.line("rev-parse", "--git-path", "index"))
    with TemporaryDirectory(prefix="robota-index-") as scratch:
        own = Path(scratch) / "index"
        with suppress(FileNotFoundError):  # without it git reads every file again
            await asyncio.to_thread(shutil.copyfile, index, own)
        apart = msgspec.structs.replace(git, environment={**git.environment, "GIT_INDEX_FILE": str(own)})
        await apart.run("add", "--all", "--", ":/", timeout_s=ADDING_S)
        return await apart.line("write-tree")
