"""Looks at a running command now and then, and says when it cannot come to a good end."""

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec

from robota.workspace.process.ending import StopReason
from robota.workspace.process.input_wait import all_wait_for_input
from robota.workspace.process.memory_use import memory_in_use, memory_of, offer_to_the_kernel, whole_memory
from robota.workspace.process.tree import ProcessTree, newest_pid

LOOK_S: Final = 0.5
# A bomb of processes doubles in a millisecond; to see that none can be going off takes a few microseconds.
GLANCE_S: Final = 0.1
MOST_OF_MEMORY: Final = 0.75


class CommandLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What a command may cost. `total_s` is the person's own limit: it holds whatever a model asks for."""

    total_s: float | None = None
    processes: int = 1000
    memory_bytes: int | None = None  # None is three quarters of what the machine has
    silence_s: float | None = 4.0  # how long it may wait for input; None if some can still come


class Watchdog:
    """Barks when the command must be stopped. Looks closely only every half second: quick commands cost nothing."""

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
        self._most_memory = limits.memory_bytes
        self._activity: tuple[int, int] | None = None
        self._still_since = self._loop.time()
        offer_to_the_kernel(tree.shell)
        self._next_look = self._loop.time() + LOOK_S
        self._timer = self._loop.call_later(GLANCE_S, self._glance)
        self._deadline: asyncio.TimerHandle | None = None
        if limits.total_s is not None:
            self._deadline = self._loop.call_later(limits.total_s, bark, StopReason.USER_LIMIT)

    def dismiss(self) -> None:
        self._timer.cancel()
        if self._deadline is not None:
            self._deadline.cancel()

    def _glance(self) -> None:
        reason = StopReason.TOO_MANY_PROCESSES if self._is_a_crowd() else None
        if reason is not None:
            self._tree.kill_group()  # at once: while anybody counts, or waits for a good end, they become more
        elif self._loop.time() >= self._next_look:
            reason = self._look()
            self._next_look = self._loop.time() + LOOK_S
        if reason is None:
            self._timer = self._loop.call_later(GLANCE_S, self._glance)
        else:
            self._bark(reason)

    def _look(self) -> StopReason | None:
        if self._is_a_glutton():
            return StopReason.TOO_MUCH_MEMORY
        if self._limits.silence_s is not None and self._stillness_s() >= self._limits.silence_s:
            return StopReason.WAITED_FOR_INPUT
        return None

    def _is_a_crowd(self) -> bool:
        newest = newest_pid()
        if newest >= self._newest and self._counted + newest - self._newest <= self._limits.processes:
            return False  # not even if every process started on this machine since the last count was its own
        self._counted, self._newest = self._tree.count(self._limits.processes + 1), newest
        return self._counted > self._limits.processes

    def _is_a_glutton(self) -> bool:
        if self._most_memory is None:
            self._most_memory = int((whole_memory() or 0) * MOST_OF_MEMORY)
        most, in_use = self._most_memory, memory_in_use()
        if most == 0 or in_use is None or in_use <= most:
            return False  # not even if everything in use on this machine was its own
        return memory_of((member.pid for member in self._tree.members()), most) > most

    def _stillness_s(self) -> float:
        """How long it has done nothing but wait for input."""
        members = self._tree.members()
        activity = (self._printed(), sum(member.cpu_ticks for member in members))
        if activity != self._activity or not all_wait_for_input(members):
            self._activity = activity
            self._still_since = self._loop.time()
        return self._loop.time() - self._still_since
