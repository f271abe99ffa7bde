"""Sessions with hooks, as settings give them: real commands that say something or write down what they were told."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from robota.app.session import open_session
from robota.config.launch_options import LaunchOptions
from tests.engine.stage import Stage, call

DONE: dict[str, Any] = {"text": "done"}
BASH: dict[str, Any] = {"calls": [call("execute_command", command="touch ran")]}
BYPASS: dict[str, Any] = {"permission_mode": "bypassPermissions"}


def command(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "command", "command": text, **more}


def on(event: str, *handlers: dict[str, Any], matcher: str = "") -> dict[str, Any]:
    return {event: [{"matcher": matcher, "hooks": list(handlers)}]}


def say_json(**said: Any) -> dict[str, Any]:
    return command(f"cat > /dev/null; printf '%s' '{json.dumps(said)}'")


def decide(decision: str, **more: Any) -> dict[str, Any]:
    return say_json(hookSpecificOutput={"permissionDecision": decision, "permissionDecisionReason": "because", **more})


def answer(behavior: str, **more: Any) -> dict[str, Any]:
    """What a hook for PermissionRequest says."""
    special = {"hookEventName": "PermissionRequest", "decision": {"behavior": behavior, **more}}
    return say_json(hookSpecificOutput=special)


def dump(event: str, matcher: str = "") -> dict[str, Any]:
    """A hook that adds what it is told to a file; `told` reads it."""
    # One write, so that hooks that run side by side do not mix their lines.
    return on(event, command(f"told=$(cat); printf '%s\\n' \"$told\" >> told-{event}"), matcher=matcher)


def told(workspace: Path, event: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (workspace / f"told-{event}").read_text().splitlines()]


def play_with_hooks(
    workspace: Path,
    hooks: dict[str, Any],
    turns: list[Any],
    story: Callable[[Stage], Awaitable[None]],
    *,
    settings: dict[str, Any] | None = None,
    variables: dict[str, str] | None = None,
    **launch: Any,
) -> None:
    """Open a session of a user who has these hooks in their settings, let the story happen, and close it."""
    home = workspace.parent / "robota-home"
    home.mkdir(exist_ok=True)
    profile = {"type": "scripted", "model": "scripted", "options": {"turns": turns}}
    values = {"currentProvider": "script", "providers": {"script": profile}, "hooks": hooks, **(settings or {})}
    (home / "settings.json").write_text(json.dumps(values))

    async def run() -> None:
        env = {"ROBOTA_HOME": str(home), "HOME": str(home), **(variables or {})}
        opened = open_session(LaunchOptions(cwd=workspace, **launch), env)
        try:
            await story(Stage(opened))
        finally:
            await opened.close()

    asyncio.run(run())


def finish(check: Callable[[Stage], None] = lambda stage: None) -> Callable[[Stage], Awaitable[None]]:
    async def story(stage: Stage) -> None:
        await stage.start("the prompt")
        await stage.until_ask("completion_result")
        check(stage)

    return story


class Bell:
    """A pipe with a name, into which a hook writes what somebody waits for."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        # Open at once, so that the hook can write whenever it comes to that, and nobody is blocked if it never does.
        self._pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK)

    async def rung(self) -> bytes:
        loop, heard = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._pipe, heard.set)
        try:
            await heard.wait()
            return os.read(self._pipe, 1 << 16)
        finally:
            loop.remove_reader(self._pipe)
            os.close(self._pipe)
