"""What a person is asked between two sessions: about a new provider, or whether they trust the workspace."""

import asyncio
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from robota.config.paths import settings_path
from robota.config.settings.writer import read_raw
from robota.protocol.slash_commands import SessionWanted
from robota.workspace.person_programs.run_robota import run_again


async def after_questions(wanted: SessionWanted, cwd: Path, env: Mapping[str, str]) -> SessionWanted:
    """Ask what there is to ask; the session then goes on with what was answered, or as it was if nothing was."""
    if wanted.decides_trust:
        await _asked(("trust", "--cwd", str(cwd)), env)
    if wanted.sets_up is None:
        return wanted
    kind = ("--type", wanted.sets_up) if wanted.sets_up else ()
    code = await _asked(("--configure", *kind), env)
    current = read_raw(settings_path(env)).get("currentProvider") if code == 0 else None
    return msgspec.structs.replace(wanted, provider=current if isinstance(current, str) else None)


async def _asked(arguments: Sequence[str], env: Mapping[str, str]) -> int:
    """Let the program ask its questions; Ctrl+C is meant for them."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, lambda: None)
    try:
        return await run_again(arguments, env)
    finally:
        loop.remove_signal_handler(signal.SIGINT)
