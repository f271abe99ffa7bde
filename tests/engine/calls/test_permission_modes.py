"""Changing the permission mode while a session runs: what the settings forbid, and what holds on."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from robota.app.session import open_session
from robota.config.launch_options import LaunchOptions
from robota.protocol.commands import Accepted, Refused, SetPermissionMode
from robota.protocol.events import Event, Notice, State
from robota.protocol.permission_mode import PermissionMode
from tests.engine.stage import Stage

FORBIDDEN = {"permissions": {"disableBypassPermissionsMode": "disable"}}
PROVIDER = {"providers": {"script": {"type": "scripted", "model": "m", "options": {"turns": []}}}}


def live(workspace: Path, story: Callable[[Stage], Awaitable[None]], settings: dict[str, Any], **launch: Any) -> None:
    """A session with the settings of a file, as a user starts it."""
    home = workspace.parent / "robota-home"
    home.mkdir(exist_ok=True)
    (home / "settings.json").write_text(json.dumps({**PROVIDER, **settings}))

    async def run() -> None:
        opened = open_session(LaunchOptions(cwd=workspace, **launch), {"ROBOTA_HOME": str(home), "HOME": str(home)})
        try:
            await story(Stage(opened))
        finally:
            await opened.close()

    asyncio.run(run())


async def refused_bypass(stage: Stage) -> None:
    receipt = await stage.submit(SetPermissionMode(permission_mode=PermissionMode.BYPASS))
    assert isinstance(receipt, Refused) and receipt.code == "forbidden_mode"
    assert "disableBypassPermissionsMode" in receipt.message and "mode is unchanged" in receipt.message
    assert isinstance(await stage.submit(SetPermissionMode(permission_mode=PermissionMode.ACCEPT_EDITS)), Accepted)
    state = await stage.until(lambda event: isinstance(event, State) and event.state.permission_mode != "default")
    assert isinstance(state, State) and state.state.permission_mode == "acceptEdits"


def test_bypass_is_refused_where_a_user_forbade_it(workspace: Path) -> None:
    live(workspace, refused_bypass, FORBIDDEN)


@pytest.mark.parametrize("file", [".robota/settings.json", ".claude/settings.json"])
def test_bypass_is_refused_where_the_repository_forbids_it_trusted_or_not(workspace: Path, file: str) -> None:
    (workspace / file).parent.mkdir(exist_ok=True)
    (workspace / file).write_text(json.dumps(FORBIDDEN))
    live(workspace, refused_bypass, {})


@pytest.mark.parametrize(
    ("begun_in", "changed_to", "holds"),
    [
        ("default", "bypassPermissions", "still run in the sandbox"),
        ("bypassPermissions", "default", "still run without a sandbox"),
    ],
)
def test_the_sandbox_stays_as_it_was_and_that_is_said(
    workspace: Path, begun_in: str, changed_to: str, holds: str
) -> None:
    async def story(stage: Stage) -> None:
        was_sandboxed = stage.opened.services.processes.is_sandboxed
        assert isinstance(await stage.submit(SetPermissionMode(permission_mode=PermissionMode(changed_to))), Accepted)

        def said(event: Event) -> bool:
            return isinstance(event, Notice) and holds in event.text

        await stage.until(said)
        assert stage.opened.services.processes.is_sandboxed is was_sandboxed is (begun_in == "default")

    live(workspace, story, {}, permission_mode=begun_in)
