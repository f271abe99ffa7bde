"""Lifecycle hooks of intents: leases end when the agent is idle, the trace is complete when the session ends."""

import asyncio
from typing import Any

from robota.contracts.hook import HookContext, HookEvent, HookResult, LifecycleHooks
from robota.contracts.tool import AnyTool, ToolCall
from robota.contracts.verdict import Verdict
from robota.intents.leases import LeaseBook
from robota.intents.recovery.session_tracing import SessionTracing


class ClosingHooks:
    """Releases the leases, completes the trace, and passes every event on to the other hooks of the session."""

    def __init__(self, leases: LeaseBook, tracing: SessionTracing | None, others: LifecycleHooks | None) -> None:
        self._leases = leases
        self._tracing = tracing
        self._others = others

    async def fire(
        self, event: HookEvent, target: str = "", *, context: HookContext | None = None, **fields: Any
    ) -> HookResult:
        is_idle = event is HookEvent.NOTIFICATION and target == "idle_prompt"
        if event in (HookEvent.STOP, HookEvent.SESSION_END) or is_idle:
            self._leases.release()
        if self._others is None:
            return HookResult()
        return await self._others.fire(event, target, context=context, **fields)

    async def permission(self, tool: AnyTool, call: ToolCall, verdict: Verdict, context: HookContext) -> HookResult:
        if self._others is None:
            return HookResult()
        return await self._others.permission(tool, call, verdict, context)

    async def close(self) -> None:
        self._leases.release()
        if self._tracing is not None:
            await asyncio.to_thread(self._tracing.close)
        if self._others is not None:
            await self._others.close()
