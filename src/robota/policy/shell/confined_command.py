"""Decides in confined mode, once no rule and no protected path has: by the proof that the command is confined."""

from collections.abc import Sequence
from typing import Final, assert_never

from robota.contracts.verdict import Verdict
from robota.policy.shell.runs_other_programs import git_directories
from robota.policy.stages import PolicyContext, allow, ask
from robota.workspace.confinement import Confined, NotConfined
from robota.workspace.git.writing_commands import NOT_ON_A_COPY, WRITING
from robota.workspace.shell.script import Argv
from robota.workspace.shell.wrappers import program

UNPROVEN: Final = "It is not known yet whether it can run confined."
CONFINED: Final = "confined mode allows commands that the sandbox confines and that can be undone."
# These change what git obeys, or what is outside the workspace; inside the sandbox they would fail.
BEYOND_DATA: Final = NOT_ON_A_COPY | frozenset(
    "config push remote submodule worktree gc filter-branch replace send-email svn p4 daemon credential".split()
)
SENT_AWAY: Final = "git {} changes more than the data of this repository, or leaves this machine, so it needs approval."


def by_confinement(commands: Sequence[Argv], context: PolicyContext) -> Verdict:
    """Allow what is proven to be confined. `commands` are the simple commands that are known of it."""
    beyond = next((word for argv in commands if (word := _beyond_data(argv)) is not None), None)
    if beyond is not None:
        return ask(SENT_AWAY.format(beyond))
    match context.confinement:
        case Confined():
            return allow(CONFINED)
        case NotConfined(reason=reason):
            return ask(reason)
        case None:
            return ask(UNPROVEN)
        case never:
            assert_never(never)


def _beyond_data(argv: Argv) -> str | None:
    """The sub-command of git that does more than change data."""
    if program(argv) != "git" or git_directories(argv, (".",)) is None:
        return None
    words = [word for word in argv[1:] if not word.startswith("-")]
    word = next((word for word in words if word in BEYOND_DATA or word in WRITING), None)
    return word if word in BEYOND_DATA else None
