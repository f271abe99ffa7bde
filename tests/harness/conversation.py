"""A slash command as a user types it in an attended conversation, without a terminal."""

import asyncio
from io import BytesIO, StringIO
from pathlib import Path

from robota.app.session import open_session
from robota.clients.headless.client import run_headless
from robota.clients.headless.options import HeadlessOptions
from robota.commands.session_commands import with_commands
from robota.config.launch_options import LaunchOptions
from tests.harness.cli import Finished, Robota, clean_environment


def typed(robota: Robota, line: str, *, resumes: Path | None = None, attended: bool = True) -> Finished:
    """Run one line in a new session, or in a resumed one; it is shown as print mode would."""
    return asyncio.run(_run(robota, line, resumes, attended))


async def _run(robota: Robota, line: str, resumes: Path | None, attended: bool) -> Finished:
    env = clean_environment(robota.home)
    launch = LaunchOptions(cwd=robota.workspace, needs_model=False, attended=attended, resumes=resumes)
    opened = open_session(launch, env)
    out, err = BytesIO(), StringIO()
    try:
        code = await run_headless(with_commands(opened, env), line, HeadlessOptions(), out, err)
    finally:
        await opened.close()
    return Finished(code=code, stdout=out.getvalue().decode(), stderr=err.getvalue())
