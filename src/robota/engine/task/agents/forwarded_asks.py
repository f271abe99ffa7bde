"""Asks of an agent in another process, asked in this session: only here is somebody who may answer."""

import asyncio
from collections.abc import Sequence

import msgspec

from robota.engine.calls.approval import grant
from robota.engine.runtime.task_runtime import TaskRuntime
from robota.protocol.asks.answer import Answer, Approve
from robota.protocol.asks.ask import ApprovalAsk, Ask, OfferedRules
from robota.protocol.asks.kinds import NON_BLOCKING_ASKS
from robota.protocol.asks.seed import SeedAsk, ask_of
from robota.protocol.commands import AskResponse
from robota.protocol.message import Message
from robota.protocol.port import SessionPort


class ForwardedAsks:
    """The open asks of one process. Each is asked here until it is answered, or no longer asked there."""

    def __init__(self, runtime: TaskRuntime, port: SessionPort) -> None:
        """`runtime` is that of the agent in this process."""
        self._runtime = runtime
        self._port = port
        self._open: dict[int, asyncio.Task[None]] = {}

    def take(self, task_id: str, row: Message) -> None:
        """Take a row with an ask, new or changed."""
        if row.ask in NON_BLOCKING_ASKS or row.partial:
            return
        if row.is_answered:
            if (asking := self._open.pop(row.ts, None)) is not None:
                asking.cancel()
            return
        asked = ask_of(row)
        if asked is not None and row.ts not in self._open:
            self._open[row.ts] = asyncio.create_task(self._ask(asked, row))

    async def close(self) -> None:
        """The process has ended, or is about to: nothing is asked any more."""
        asking = list(self._open.values())
        self._open.clear()
        for each in asking:
            each.cancel()
        if asking:
            await asyncio.wait(asking)

    async def _ask(self, asked: Ask, row: Message) -> None:
        if isinstance(asked, ApprovalAsk) and self._is_granted(asked.verdict.suggestions):
            answer: Answer = Approve()
        else:
            seed = SeedAsk(row.ask or "", row.text)
            answer = self._with_grants_noted(asked, await self._runtime.ask(asked, seed=seed, call_id=row.call_id))
        await self._port.submit(AskResponse(answer=answer, ts=row.ts))
        self._open.pop(row.ts, None)

    def _is_granted(self, suggestions: Sequence[OfferedRules]) -> bool:
        """Whether rules that would stop the question have been granted for this session since the process started."""
        granted = set(self._runtime.grants)
        return any(granted.issuperset(each.rules) for each in suggestions if each.rules)

    def _with_grants_noted(self, asked: Ask, answer: Answer) -> Answer:
        """The answer without its grants, which hold in this session. In the process nothing is granted for longer."""
        if not isinstance(answer, Approve) or not isinstance(asked, ApprovalAsk):
            return answer
        grant(self._runtime, answer, (each.rules for each in asked.verdict.suggestions))
        return msgspec.structs.replace(answer, grant=())
