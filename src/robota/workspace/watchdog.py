"""Looks at a running command now and then, and says when it cannot come to a good end."""

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec

from robota.workspace.ending import StopReason
from robota.workspace.input_wait import all_wait_for_input
from robota.workspace.process_tree import ProcessTree, newest_pid

LOOK_S: Final = 0.5


class CommandLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What a command may cost. `total_s` is the person's own limit: it holds whatever a model asks for."""

    total_s: float | None = None
    processes: int = 1000
    silence_s: float | None = 4.0  # how long it may wait for input; None if some can still come


class Watchdog:
    """Barks when the command must be stopped. Does not look in the first half second: quick commands cost nothing."""

    def __init__(
        self, tree: ProcessTree, printed: Callable[[], int], limits: CommandLimits, bark: Callable[[StopReason], None]
    ) -> None:
        """`printed` tells how many bytes the command has printed so far."""
        self._tree = tree
        self._printed = printed
        self._limits = limits
        self._bark = bark
        self._loop = asyncio.get_running_loop()
        self._counted, self._newest = 0, newest_pid()
        self._activity: tuple[int, int] | None = None
        self._still_since = self._loop.time()
        self._timer = self._loop.call_later(LOOK_S, self._look)
        self._deadline: asyncio.TimerHandle | None = None
        if limits.total_s is not None:
            self._deadline = self._loop.call_later(limits.total_s, bark, StopReason.USER_LIMIT)

    def dismiss(self) -> None:
        self._timer.cancel()
        if self._deadline is not None:
            self._deadline.cancel()

    def _look(self) -> None:
        if self._is_a_crowd():
            self._bark(StopReason.TOO_MANY_PROCESSES)
        elif self._limits.silence_s is not None and self._stillness_s() >= self._limits.silence_s:
            self._bark(StopReason.WAITED_FOR_INPUT)
        else:
            self._timer = self._loop.call_later(LOOK_S, self._look)

    def _is_a_crowd(self) -> bool:
        newest = newest_pid()
        if newest >= self._newest and self._counted + newest - self._newest <= self._limits.processes:
            return False  # not even if every process started on this machine since the last count was its own
        self._counted, self._newest = len(self._tree.members()), newest
        return self._counted > self._limits.processes

    def _stillness_s(self) -> float:
        """How long it has done nothing but wait for input."""
        members = self._tree.members()
        activity = (self._printed(), sum(member.cpu_ticks for member in members))
        if activity != self._activity or not all_wait_for_input(members):
            self._activity = activity
            self._still_since = self._loop.time()
        return self._loop.time() - self._still_since
