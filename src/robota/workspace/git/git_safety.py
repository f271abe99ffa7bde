"""What git finds in a directory: whether read-only commands are safe there, and which programs git would run."""

import msgspec


class GitSafety(msgspec.Struct, frozen=True, kw_only=True):
    """What git finds in a directory. `problem` is why git may do more than read files of the workspace.

    `reaches_above`: the top of the repository is above the workspace, so some of its files are outside.
    """

    problem: str | None = None
    reaches_above: bool = False


class ConfiguredPrograms(msgspec.Struct, frozen=True, kw_only=True):
    """The user's git settings that name a program: one that shows diffs, one that runs when files are compared.

    `recurses`: git searches submodules too.
    """

    for_diffs: str | None = None
    for_files: str | None = None
    recurses: bool = False
