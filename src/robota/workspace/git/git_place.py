"""What is known about git in a directory: whether reading commands are safe there, and which programs git would run."""

import msgspec


class GitPlace(msgspec.Struct, frozen=True, kw_only=True):
    """What git finds in a directory. `problem` is why it may do more than look at files of the workspace.

    It `reaches_above` where the repository begins above the workspace: other files of it lie outside.
    """

    problem: str | None = None
    reaches_above: bool = False


class ConfiguredPrograms(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the person that name a program: one that shows differences, one that comparing files may run.

    `recurses`: git searches submodules, too.
    """

    for_diffs: str | None = None
    for_files: str | None = None
    recurses: bool = False
