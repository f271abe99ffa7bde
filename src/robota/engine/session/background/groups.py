"""Groups of agents that were started together: when each is complete, and how its members ended."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial

from robota.engine.task.agents.agent import Agent
from robota.protocol.calls import GroupStatus, JobGroup, JobResult, WaitPolicy, is_complete


class Group:
    """A group, which takes the result of each member when it ends first."""

    def __init__(self, id: str, members: Sequence[Agent], policy: WaitPolicy) -> None:
        self.id = id
        self.members = tuple(members)
        self.policy = policy
        self.complete = asyncio.Event()
        self._results: dict[str, JobResult] = {}

    @property
    def shown(self) -> JobGroup:
        """As clients see it."""
        return JobGroup(
            id=self.id,
            policy=self.policy,
            status=GroupStatus.COMPLETED if self.complete.is_set() else GroupStatus.RUNNING,
            members=tuple(agent.id for agent in self.members),
            results=tuple(self._results.values()),
        )

    async def until_complete(self, timeout_s: float) -> None:
        """Wait until it is complete, but not longer than this."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self.complete.wait()

    def ended(self, agent: Agent) -> None:
        """Take the result of a member."""
        self._results.setdefault(agent.id, agent.result())
        if is_complete(self.policy, len(self.members), len(self._results)):
            self.complete.set()


class Groups:
    """All groups of a session."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        self._groups: dict[str, Group] = {}

    def __iter__(self) -> Iterator[Group]:
        return iter(self._groups.values())

    def find(self, id: str) -> Group | None:
        """The group of that id, with or without `group_`."""
        return self._groups.get(id) or self._groups.get(f"group_{id}")

    def add(self, members: Sequence[Agent], policy: WaitPolicy) -> Group:
        """A group of agents that were just started."""
        group = Group(f"group_{len(self._groups) + 1}", members, policy)
        self._groups[group.id] = group
        for agent in members:
            agent.group_id = group.id
            assert agent.subtask is not None
            agent.subtask.ended.add_done_callback(partial(self._ended, group, agent))
        self._on_change()
        return group

    def _ended(self, group: Group, agent: Agent, _: "asyncio.Future[object]") -> None:
        if agent.is_over:  # else the session is left, and the agent is told as cut off when it is resumed
            group.ended(agent)
            self._on_change()
