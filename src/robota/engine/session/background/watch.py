"""The background processes and agents of a session, as clients list them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from robota.contracts.workspace import Processes
from robota.engine.runtime.user_input import AskTable
from robota.protocol.calls import BackgroundStatus, BackgroundTask
from robota.text.visible import single_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from robota.engine.task.agents.agent import Agent
    from robota.workspace.process.background import BackgroundProcess

COMMAND_LENGTH: Final = 200
PREVIEW_LENGTH: Final = 120


class BackgroundWatch:
    """Knows what runs beside the conversation, and when each process was seen to begin and to end."""

    def __init__(
        self, processes: Processes, agents: "Callable[[], Iterable[Agent]]", asks: AskTable, now: Callable[[], int]
    ) -> None:
        """`now` returns milliseconds."""
        self._processes = processes
        self._agents = agents
        self._asks = asks
        self._now = now
        self._begun: dict[str, int] = {}
        self._ended: dict[str, int] = {}

    def asks_changed(self) -> bool:
        """An agent that asks something waits for the user. Whether there are agents at all."""
        agents = tuple(self._agents())
        for agent in agents:
            agent.asks(is_asking=self._asks.newest_of(agent.task.runtime.task_id) is not None)
        return bool(agents)

    def tasks(self) -> tuple[BackgroundTask, ...]:
        """All that were not dismissed, oldest first; an agent that a task waits for only while it runs."""
        listed = (each for each in self._agents() if not each.is_dismissed and (each.is_background or not each.is_over))
        running = (self._process(each) for each in self._processes.background if not each.is_put_away)
        return (*running, *(agent.shown() for agent in listed))

    def _process(self, process: "BackgroundProcess") -> BackgroundTask:
        ending = process.ending
        lines = process.last_text.split()[-40:] if ending is not None else []
        command = single_line(process.command, COMMAND_LENGTH)
        return BackgroundTask(
            id=process.id,
            command=command,
            label=command,
            status=_status(process),
            is_unread=ending is not None and not process.is_read,
            started_at=self._begun.setdefault(process.id, self._now()),
            completed_at=None if ending is None else self._ended.setdefault(process.id, self._now()),
            pid=process.pid if ending is None else None,
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
