"""Whether a shell command is git changing data of this repository, so that its sandbox must allow that."""

from collections.abc import Sequence
from typing import Final, assert_never

from robota.workspace.shell.reading import read_script
from robota.workspace.shell.script import Argv, Opaque, Plain, Unjudgeable

# Sub-commands that change only git data and the working tree. Not `config`, `remote`, `submodule`, `worktree`, `gc`:
# they change more than data.
WRITING: Final = frozenset(
    """
    add bisect branch checkout cherry-pick commit commit-tree fetch hash-object merge mv notes pull read-tree reset
    restore revert rm stash switch symbolic-ref tag update-index update-ref write-tree
    """.split()
)
# If these stop halfway they leave a list of commands to run, which is not written back: the repository would end up
# halfway, on no branch. So a command that contains any of these does not work on a copy.
NOT_ON_A_COPY: Final = frozenset({"rebase", "am"})
# Allowed next to git in the same command: they print or change directory, and never run another program.
BESIDE: Final = frozenset("cat cd echo grep head ls printf pwd sort tail test true uniq wc".split())
VALUED: Final = frozenset({"-c", "-C", "--git-dir", "--work-tree", "--namespace", "--config-env", "--exec-path"})
ELSEWHERE: Final = ("-C", "--git-dir", "--work-tree")


def writes_git_data(command: str) -> bool:
    """Whether the command runs only git and harmless programs, and at least one part changes repository data.

    Programs that git starts, such as hooks, are included. This grants no permission: policy has decided before.
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
    """The git sub-command; None if it is for another repository."""
    words = iter(argv[1:] if argv[:1] == ("git",) else ())
    for word in words:
        if word.startswith(ELSEWHERE):
            return None
        if not word.startswith("-"):
            return word
        if word in VALUED:
            next(words, None)
    return None
