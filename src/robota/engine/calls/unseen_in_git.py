"""Takes back what a command that nobody approved put into git's data, out of sight, for other programs to obey."""

import asyncio
from collections.abc import Sequence
from typing import Final

from robota.contracts.tool import AnyTool, BadArguments, ToolCall
from robota.engine.runtime.task_runtime import TaskRuntime
from robota.log.kinds.rewinds import RefMovesRecord
from robota.protocol.rewind import RefMove
from robota.text.visible import single_line
from robota.workspace.checkpoints.unseen_in_git import GitSnapshot, UnseenChanges
from robota.workspace.git.ref_moves import UnreadableNames
from robota.workspace.git.run import GitError
from robota.workspace.git.writing_commands import writes_git_data

NAMES_SHOWN: Final = 5
PATH_SHOWN: Final = 200
REVISION_SHOWN: Final = 12
TAKEN_BACK: Final = (
    "Other programs obey {}, which the command put into git's data without approval, and which is not in the workspace "
    "like that. So it was taken back: {}. Only commit such files as they are in the workspace."
)
UNSTAGED: Final = "it is not staged any more"
MOVED_BACK: Final = "{} is where it was before ({} is still there, but has no name)"
MADE: Final = "{} is removed again ({} is still there, but has no name)"
NOT_TAKEN_BACK: Final = (
    "Whether the command put something into git's data that other programs obey could not be found out, or taken back: "
    "{}. Look at git log before you push or switch branches."
)


class UnseenInGit:
    """Compares git's data before and after one command; nothing is looked at for one that cannot change it."""

    def __init__(self, runtime: TaskRuntime, tool: AnyTool, call: ToolCall) -> None:
        self._runtime = runtime
        self._call = call
        self._is_possible = _may_write(tool, call)
        self._before: GitSnapshot | None = None

    async def note(self) -> None:
        """Before the command."""
        service = self._runtime.services.confinement
        if service is None or not self._is_possible:
            return
        try:
            self._before = await asyncio.to_thread(service.git_snapshot)
        except UnreadableNames:  # then there was no proof either
            self._before = None

    async def take_back(self) -> str:
        """After it, when the workspace has been searched; returns what the model must know, or an empty text."""
        service = self._runtime.services.confinement
        if service is None or self._before is None:
            return ""
        try:
            unseen = await service.take_unseen_out_of_git(self._before)
        except (GitError, UnreadableNames) as error:
            self._runtime.warn(NOT_TAKEN_BACK.format(single_line(str(error), PATH_SHOWN)))
            return ""
        if not unseen.paths:
            return ""
        if unseen.moves:
            moves = RefMovesRecord(task_id=self._runtime.task_id, call_id=self._call.id, moves=unseen.moves)
            self._runtime.journal.write(moves)
        told = _told(unseen)
        self._runtime.warn(told)
        return told


def _may_write(tool: AnyTool, call: ToolCall) -> bool:
    try:
        command = tool.touches(tool.decode(call.input)).command
    except BadArguments:
        return False
    return command is not None and writes_git_data(command)


def _told(unseen: UnseenChanges) -> str:
    names = ", ".join(single_line(path, PATH_SHOWN) for path in unseen.paths[:NAMES_SHOWN])
    more = "" if len(unseen.paths) <= NAMES_SHOWN else f" and {len(unseen.paths) - NAMES_SHOWN} more"
    return TAKEN_BACK.format(f"{names}{more}", "; ".join(_moved(unseen.moves)) or UNSTAGED)


def _moved(moves: Sequence[RefMove]) -> list[str]:
    return [
        (MADE if move.after is None else MOVED_BACK).format(move.name, (move.before or "nothing")[:REVISION_SHOWN])
        for move in moves
    ]
