"""Runs tool calls without a model and without a user."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from robota.app.session import OpenSession, open_session
from robota.config.launch_options import LaunchOptions
from robota.engine.calls.executor import Executed
from robota.engine.calls.single_call import call_once
from robota.protocol.views import TerminalView


async def run_tool(launch: LaunchOptions, env: Mapping[str, str], tool: str, arguments: dict[str, Any]) -> Executed:
    """Run one call in a session of its own, for `robota tool run`."""
    async with session_for_calls(launch, env, launch.name or f"tool run {tool}") as opened:
        return await call_once(opened.options, opened.services, tool, arguments)


@asynccontextmanager
async def session_for_calls(launch: LaunchOptions, env: Mapping[str, str], name: str) -> AsyncIterator[OpenSession]:
    """An unattended session without a model: calls pass the policy, the sandbox and the log as in any session."""
    opened = open_session(msgspec.structs.replace(launch, needs_model=False, attended=False, name=name), env)
    try:
        yield opened
    finally:
        await opened.close()


def command_passed(executed: Executed) -> bool:
    """Whether a call of the shell tool ran its command with exit code 0."""
    view = executed.result.view
    return isinstance(view, TerminalView) and view.exit_code == 0 and not executed.result.is_error
