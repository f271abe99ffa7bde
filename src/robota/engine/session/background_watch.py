"""The background processes of a session as an event for clients."""

from typing import TYPE_CHECKING, Final

from robota.contracts.workspace import Processes
from robota.protocol.events import BackgroundStatus, BackgroundTask, BackgroundTasks
from robota.text.visible import single_line

if TYPE_CHECKING:
    from robota.workspace.process.background import BackgroundProcess

COMMAND_LENGTH: Final = 200
PREVIEW_LENGTH: Final = 120


def background_tasks(processes: Processes) -> BackgroundTasks:
    """The list of background processes, as clients show it."""
    return BackgroundTasks(tasks=tuple(_task(each) for each in processes.background if not each.is_put_away))


def _task(process: "BackgroundProcess") -> BackgroundTask:
    ending = process.ending
    lines = process.last_text.split()[-40:] if ending is not None else []
    return BackgroundTask(
        id=process.id,
        command=single_line(process.command, COMMAND_LENGTH),
        status=_status(process),
        exit_code=None if ending is None else ending.exit_code,
        signal=None if ending is None else ending.signal,
        preview=single_line(" ".join(lines), PREVIEW_LENGTH),
    )


def _status(process: "BackgroundProcess") -> BackgroundStatus:
    ending = process.ending
    if ending is None:
        return BackgroundStatus.RUNNING
    if ending.stopped_for is not None:
        return BackgroundStatus.CANCELLED
    return BackgroundStatus.COMPLETED if ending.exit_code == 0 else BackgroundStatus.FAILED
