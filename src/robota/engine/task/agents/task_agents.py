"""The agents of one task: carries out the calls of agent tools."""

import asyncio
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Final

import msgspec

from robota.contracts.agent import AgentControl, SendToAgent, StartAgent, StopAgent, WaitForAgents
from robota.contracts.tool import ToolResult
from robota.engine.runtime.agent_service import AgentService
from robota.engine.runtime.rights import NO_AGENTS, may_start_agents
from robota.engine.task.agents.agent import Agent
from robota.engine.task.agents.table import AgentTable
from robota.log.errors import LogError
from robota.log.kinds.agents import AgentsRecord
from robota.protocol.calls import BackgroundStatus
from robota.protocol.commands import QueueMessage
from robota.text.did_you_mean import what_there_is

if TYPE_CHECKING:
    from robota.engine.task.agents.forecast import FanOut
    from robota.engine.task.subtasks import TaskTree
    from robota.engine.task.task import Task

# How long an unattended task waits for its background agents before it ends without them.
MAX_WAIT_S: Final = 600.0
STOPPING_S: Final = 10.0
STOPPED_BY_USER: Final = "The user stopped agent {}, so it does not go on. Do not start its work again unless asked to."


class TaskAgents:
    """Starts agents for a task, sends them messages, waits for them and stops them."""

    def __init__(self, task: "Task", tree: "TaskTree") -> None:
        self._task = task
        self._tree = tree

    @property
    def _service(self) -> AgentService:
        service = self._task.runtime.services.agents
        assert service is not None
        return service

    @property
    def _table(self) -> AgentTable:
        if self._tree.agents is None:
            self._tree.agents = AgentTable(self._tree, self._service)
        return self._tree.agents

    def restore(self, record: AgentsRecord) -> None:
        """Restore the agents of this task from its log."""
        self._table.restore(self._task, record)

    @property
    def own(self) -> list[Agent]:
        """The agents that this task started in this process."""
        table = self._tree.agents
        return [] if table is None else [agent for agent in table if agent.parent is self._task]

    async def handle(self, control: AgentControl, call_id: str) -> ToolResult:
        """Do what a tool asked for."""
        if not may_start_agents(self._task.runtime):
            return ToolResult(content=NO_AGENTS, is_error=True)
        match control:
            case StartAgent():
                return await self._start(control, call_id)
            case SendToAgent():
                return await self._send(control)
            case WaitForAgents():
                return await self._wait(control)
            case StopAgent():
                return await self._stop(control)
            case _:
                raise AssertionError(control)

    async def _start(self, order: StartAgent, call_id: str) -> ToolResult:
        if (problem := await self._budget_problem(order)) is not None:
            return ToolResult(content=problem, is_error=True)
        agent = self.begin(order, call_id)
        if isinstance(agent, str):
            return ToolResult(content=agent, is_error=True)
        if agent.is_background:
            return ToolResult(content=self._started_in_background(agent))
        return await self._result(agent)

    async def _budget_problem(self, order: StartAgent) -> str | None:
        """Why the agent is not started: it may spend more than there is, or nothing, or the user wants fewer agents."""
        if order.budget is None and self._task.runtime.budget is None:
            return None
        # Imported here because few sessions are limited.
        from robota.engine.task.agents.forecast import budget_problem

        return budget_problem(self._task.runtime, order) or await self._fan_out.problem(order, self._table)

    @cached_property
    def _fan_out(self) -> "FanOut":
        from robota.engine.task.agents.forecast import FanOut

        return FanOut(self._task.runtime)

    def begin(self, order: StartAgent, call_id: str | None = None) -> Agent | str:
        """Start an agent that nothing waits for yet; returns the reason if it cannot be started."""
        definition = self._service.find(order.type)
        if definition is None:
            names = [each.name for each in self._service.definitions()]
            return f"There is no agent {order.type!r}. Nothing was started. {what_there_is(order.type, names)}"
        if order.name and self._table.is_taken(order.name):
            return f"An agent named {order.name!r} is running already. Choose another name, or use agent_send."
        order = msgspec.structs.replace(order, in_background=order.in_background or definition.background)
        try:
            agent = self._table.add(self._task, order, definition, call_id)
        except LogError as error:
            return f"The agent was not started, because its log cannot be written: {error}. Do its work yourself."
        self._table.start(agent, order.prompt)
        return agent

    def _started_in_background(self, agent: Agent) -> str:
        before = sum(not other.is_over for other in self._table if other is not agent)
        waits = before >= self._service.max_running
        begun = f"{before} agents work or wait before it, so it waits for its turn." if waits else "It has started."
        return (
            f"Agent {agent.id} works in the background. {begun} You get its report when it ends; go on with other "
            f"work, or call agent_wait. Do not do its work yourself."
        )

    async def _result(self, agent: Agent) -> ToolResult:
        """The report of an agent that the task waits for. If the task is stopped, so is the agent."""
        assert agent.subtask is not None
        try:
            async with self._table.waiting_for_others(self._task):
                await agent.subtask.end()
        except asyncio.CancelledError:
            agent.subtask.stop()
            await agent.subtask.end()
            raise
        self._table.delivered(agent)
        return ToolResult(content=agent.report(), is_error=agent.status is not BackgroundStatus.COMPLETED)

    async def _send(self, message: SendToAgent) -> ToolResult:
        agent = self._named(message.to)
        if agent is None:
            return self._no_such_agent(message.to)
        if agent.was_stopped_by_user:
            return ToolResult(content=STOPPED_BY_USER.format(agent.id), is_error=True)
        return ToolResult(content=self.send(agent, message.message))

    def send(self, agent: Agent, text: str) -> str:
        """Send an agent another message; returns what happens with it."""
        if not agent.is_over:
            runtime = agent.task.runtime
            runtime.queue.add(QueueMessage(text=text, task_id=runtime.task_id), runtime.queue_id)
            return f"Agent {agent.id} gets the message with its next request."
        agent.is_background = True
        self._table.start(agent, text)
        return f"Agent {agent.id} goes on in the background with its conversation so far. You get its report."

    async def _wait(self, order: WaitForAgents) -> ToolResult:
        agents = [self._named(each) for each in order.ids] if order.ids else self._unreported()
        if None in agents:
            return self._no_such_agent(next(each for each in order.ids if self._named(each) is None))
        chosen = [agent for agent in agents if agent is not None]
        if not chosen:
            return ToolResult(content="No agent of this task runs or has a report that you have not got.")
        wait_for = asyncio.ALL_COMPLETED if order.ids else asyncio.FIRST_COMPLETED
        async with self._table.waiting_for_others(self._task):
            await self._until_ended(chosen, order.timeout_s, wait_for)
        over = [agent for agent in chosen if agent.is_over]
        for agent in over:
            self._table.delivered(agent)
        rest = [f"Agent {agent.id} still works." for agent in chosen if not agent.is_over]
        return ToolResult(content="\n\n".join([*(agent.report() for agent in over), *rest]))

    async def until_news(self) -> None:
        """Wait for the remaining background agents, up to a time limit."""
        running = [agent for agent in self.own if agent.is_background and not agent.is_over]
        if running:
            async with self._table.waiting_for_others(self._task):
                await self._until_ended(running, MAX_WAIT_S, asyncio.FIRST_COMPLETED)

    async def _until_ended(self, agents: list[Agent], timeout_s: float, until: str) -> None:
        ends = [asyncio.shield(agent.subtask.ended) for agent in agents if agent.subtask is not None]
        if ends:
            await asyncio.wait(ends, timeout=timeout_s, return_when=until)
            await asyncio.sleep(0)  # their ends are recorded by the table

    def _unreported(self) -> list[Agent]:
        return [agent for agent in self.own if agent.is_background and not agent.is_delivered]

    async def _stop(self, order: StopAgent) -> ToolResult:
        agent = self._named(order.id)
        if agent is None:
            return self._no_such_agent(order.id)
        if agent.is_over:
            return ToolResult(content=f"Agent {agent.id} has ended already.")
        await self.stop(agent)
        if agent.is_over:
            self._table.delivered(agent)
            return ToolResult(content=f"Agent {agent.id} was stopped. The others go on.")
        return ToolResult(content=f"Agent {agent.id} is being stopped.")

    async def stop(self, agent: Agent) -> None:
        """Stop an agent and what it started."""
        assert agent.subtask is not None
        agent.subtask.stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(STOPPING_S):
                await agent.subtask.end()
        await asyncio.sleep(0)

    def _named(self, id_or_name: str) -> Agent | None:
        """One of the agents of this task; it has no authority over others."""
        agent = self._table.find(id_or_name)
        if agent is None or agent.parent is not self._task:
            return self._table.revive(self._task, id_or_name)
        return agent

    def _no_such_agent(self, id_or_name: str) -> ToolResult:
        ids = ", ".join(agent.id for agent in self.own)
        rest = f"Use one of: {ids}." if ids else "You have started none so far. Start one with the tool agent."
        text = f"None of your agents is called {id_or_name!r}. Nothing was done. {rest}"
        return ToolResult(content=text, is_error=True)
