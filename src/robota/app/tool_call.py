"""Runs one tool call without a model, for `robota tool run`."""

from collections.abc import Mapping
from typing import Any

import msgspec

from robota.app.session import open_session
from robota.config.launch_options import LaunchOptions
from robota.engine.calls.executor import Executed
from robota.engine.calls.single_call import call_once


async def run_tool(launch: LaunchOptions, env: Mapping[str, str], tool: str, arguments: dict[str, Any]) -> Executed:
    """One call of one tool, judged, run and logged as in a session."""
    alone = msgspec.structs.replace(launch, needs_model=False, attended=False, name=launch.name or f"tool run {tool}")
    opened = open_session(alone, env)
    try:
        return await call_once(opened.options, opened.services, tool, arguments)
    finally:
        await opened.close()
