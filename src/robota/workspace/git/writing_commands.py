"""Whether a shell command is git at work on this repository, so that its sandbox should let it change git's data."""

from collections.abc import Sequence
from typing import Final, assert_never

from robota.workspace.shell.reading import read_script
from robota.workspace.shell.script import Argv, Opaque, Plain, Unjudgeable

# Sub-commands whose whole effect is in git's data and in the working tree. Not `config`, `remote`, `submodule`,
# `worktree`, `gc`: they change more than data.
WRITING: Final = frozenset(
    """
    add bisect branch checkout cherry-pick commit commit-tree fetch hash-object merge mv notes pull read-tree reset
    restore revert rm stash switch symbolic-ref tag update-index update-ref write-tree
    """.split()
)
# What these leave for later if they stop is a list of things to run, which is not taken over: they would end halfway,
# on no branch. So nothing that contains one of them works on a copy.
NOT_ON_A_COPY: Final = frozenset({"rebase", "am"})
# Beside git in the same command: they print, or say where to run. None of them runs another program.
BESIDE: Final = frozenset("cat cd echo grep head ls printf pwd sort tail test true uniq wc".split())
VALUED: Final = frozenset({"-c", "-C", "--git-dir", "--work-tree", "--namespace", "--config-env", "--exec-path"})
ELSEWHERE: Final = ("-C", "--git-dir", "--work-tree")


def writes_git_data(command: str) -> bool:
    """Whether all that runs is git, with harmless company, and one part changes data of the repository around it.

    Programs that git starts, such as hooks, run with it. Nothing of this is a permission: policy has given that.
    """
    script = read_script(command)
    match script:
        case Plain(commands=commands):
            return _is_git_at_work([each.argv for each in commands])
        case Opaque(possible=possible):
            return _is_git_at_work(possible)
        case Unjudgeable():
            return False
        case never:
            assert_never(never)


def _is_git_at_work(commands: Sequence[Argv]) -> bool:
    programs = {argv[0] for argv in commands if argv}
    subcommands = {_subcommand(argv) for argv in commands}
    return (
        programs <= BESIDE | {"git"} and not subcommands.isdisjoint(WRITING) and subcommands.isdisjoint(NOT_ON_A_COPY)
    )


def _subcommand(argv: Argv) -> str | None:
    """What git is told to do; None if it is told to do it in another repository."""
    words = iter(argv[1:] if argv[:1] == ("git",) else ())
    for word in words:
        if word.startswith(ELSEWHERE):
            return None
        if not word.startswith("-"):
            return word
        if word in VALUED:
            next(words, None)
    return None
