"""Stops agents that make no progress: nothing comes from the model, they repeat themselves, or write without end."""

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from robota.engine.task.agents.process_task import ProcessTask
from robota.protocol.calls import BackgroundStatus
from robota.protocol.conversation import AssistantTurn

if TYPE_CHECKING:
    from robota.engine.task.agents.agent import Agent
    from robota.engine.task.task import Task

TICK_S: Final = 1.0
MOST_CHARACTERS: Final = 256_000
SAME_IN_A_ROW: Final = 8
SHORTEST_SENTENCE: Final = 12
SENTENCE_END: Final = re.compile(r"[.!?\n]+")


class AgentLimit(StrEnum):
    """Why an agent was stopped."""

    IDLE = "idle"
    REPETITION = "repetition"
    OUTPUT = "output_limit"


IN_WORDS: Final = {
    AgentLimit.IDLE: "It was stopped, because nothing came from its model for a long time.",
    AgentLimit.REPETITION: "It was stopped, because it said the same again and again.",
    AgentLimit.OUTPUT: "It was stopped, because it wrote too much.",
}


class AgentWatchdog:
    """Watches one turn of an agent. What it writes is in its log; while a call runs, that has limits of its own."""

    def __init__(self, agent: "Agent", idle_s: float) -> None:
        """`idle_s` is how long nothing may come; 0 for no limit."""
        self._agent = agent
        self._idle_s = idle_s
        self._first = len(agent.task.runtime.history.turns)  # of a task in this process
        self._size = -1
        self._silent_s = 0.0

    async def watch(self) -> None:
        """Stop the agent at the first limit that it exceeds."""
        tick = min(TICK_S, self._idle_s / 4) if self._idle_s else TICK_S
        while True:
            await asyncio.sleep(tick)
            limit = exceeded(self._replies) or self._idle(tick)
            if limit is not None and self._agent.subtask is not None:
                self._agent.limit = limit
                self._agent.subtask.stop()
                return

    @property
    def _replies(self) -> list[str]:
        if self._agent.in_process is not None:
            return self._agent.in_process.replies
        turns = self._agent.task.runtime.history.turns[self._first :]
        return [turn.text for turn in turns if isinstance(turn, AssistantTurn)]

    def _idle(self, passed_s: float) -> AgentLimit | None:
        """Whether its log has not grown for too long, although the agent waits for nothing but its model."""
        size = 0
        with suppress(OSError):
            size = Path(self._agent.log_path).stat().st_size
        waits = _waits(self._agent.task) or self._agent.status is not BackgroundStatus.RUNNING
        self._silent_s = 0.0 if waits or size != self._size else self._silent_s + passed_s
        self._size = size
        return AgentLimit.IDLE if self._idle_s and self._silent_s >= self._idle_s else None


def _waits(task: "Task | ProcessTask") -> bool:
    """Whether the task waits for a call, or for the next attempt of a request."""
    if isinstance(task, ProcessTask):
        return task.waits
    turns = task.runtime.history.turns
    return task.requester.is_pausing or (bool(turns) and isinstance(turns[-1], AssistantTurn))


def exceeded(replies: Sequence[str]) -> AgentLimit | None:
    """The limit that the replies of a turn exceed."""
    if sum(map(len, replies)) > MOST_CHARACTERS:
        return AgentLimit.OUTPUT
    newest = [" ".join(reply.split()) for reply in replies[-SAME_IN_A_ROW:]]
    says_the_same = len(newest) == SAME_IN_A_ROW and len(set(newest)) == 1 and len(newest[0]) >= SHORTEST_SENTENCE
    return AgentLimit.REPETITION if says_the_same or (replies and _repeats_itself(replies[-1])) else None


def _repeats_itself(text: str) -> bool:
    """Whether a sentence comes too often in a row."""
    before, count = "", 0
    for sentence in map(str.strip, SENTENCE_END.split(text)):
        if not sentence:
            continue
        count = count + 1 if sentence == before else 1
        before = sentence
        if count >= SAME_IN_A_ROW and len(sentence) >= SHORTEST_SENTENCE:
            return True
    return False
