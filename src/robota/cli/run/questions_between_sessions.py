"""Ask the user between two sessions: for a new provider, or about trust in the workspace."""

import asyncio
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from robota.config.paths import settings_path
from robota.config.settings.writer import read_raw
from robota.protocol.slash_commands import SessionWanted
from robota.workspace.user_programs.run_robota import run_again


async def after_questions(wanted: SessionWanted, cwd: Path, env: Mapping[str, str]) -> SessionWanted:
    """Ask the pending questions; returns the session to continue, changed by the answers if there were any."""
    if wanted.decides_trust:
        await _asked(("trust", "--cwd", str(cwd)), env)
    if wanted.sets_up is None:
        return wanted
    kind = ("--type", wanted.sets_up) if wanted.sets_up else ()
    code = await _asked(("--configure", *kind), env)
    current = read_raw(settings_path(env)).get("currentProvider") if code == 0 else None
    return msgspec.structs.replace(wanted, provider=current if isinstance(current, str) else None)


async def _asked(arguments: Sequence[str], env: Mapping[str, str]) -> int:
    """Run the program that asks; Ctrl+C goes to it, not to us."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, lambda: None)
    try:
        return await run_again(arguments, env)
    finally:
        loop.remove_signal_handler(signal.SIGINT)
