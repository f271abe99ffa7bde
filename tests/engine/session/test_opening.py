"""A session that cannot be opened leaves nothing behind: no directory, no lock, nothing open."""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from robota.app.session import open_session
from robota.config.errors import ConfigError
from robota.config.launch_options import LaunchOptions
from robota.config.profiles.profile import Profile
from robota.log.errors import LogError
from robota.providers.registry import definitions, open_provider, ready
from robota.workspace.problems import RootReplaced

KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "DASHSCOPE_API_KEY", "OPENROUTER_API_KEY")


def scripted(**options: Any) -> Profile:
    return Profile(type="scripted", name="script", model="m", options={"turns": [], **options})


def opened_in(directory: Path) -> list[Path]:
    """What this process has open in a directory, which only one test uses."""
    found = []
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the listing itself
            found.append(entry.readlink())
    return [path for path in found if path.is_relative_to(directory.resolve())]


@pytest.mark.parametrize(
    ("launch", "profile"),
    [
        ({}, scripted(toolFormat="telepathy")),
        ({}, scripted(retry={"maxRetries": -1})),
        ({"mode": "nowhere"}, scripted()),
        ({"session_id": "../escape"}, scripted()),
    ],
    ids=["format", "retry", "mode", "id"],
)
def test_what_is_wrong_is_found_before_anything_is_made(workspace: Path, launch: Any, profile: Profile) -> None:
    with pytest.raises((ConfigError, LogError)):
        open_session(LaunchOptions(cwd=workspace, profile=profile, **launch), {"ROBOTA_HOME": str(workspace / "home")})
    assert not (workspace / ".robota").exists()
    assert opened_in(workspace) == []


def test_a_closed_session_holds_nothing_of_the_workspace_open(workspace: Path) -> None:
    """Not even until Python collects its garbage: the file system can be unmounted, and nothing else is locked."""
    env = {"ROBOTA_HOME": str(workspace / "home")}
    opened = open_session(LaunchOptions(cwd=workspace, profile=scripted()), env)
    assert opened.sandbox is not None and opened_in(workspace)
    asyncio.run(opened.close())
    assert opened_in(workspace) == []
    with pytest.raises(RootReplaced, match="is closed"):
        opened.services.files.read("README.md", 10)


def test_a_provider_that_was_never_asked_has_nothing_to_close() -> None:
    """So a session that fails to open need not wait for one to close."""
    before = set(Path("/proc/self/fd").iterdir())
    made = []
    for kind in definitions():
        if kind.type == "local":
            continue  # Needs packages that are not always there; it starts its server with the first request.
        profile = Profile(type=kind.type, name="x", model="m", base_url="http://127.0.0.1:1/v1", api_key="k")
        made.append(open_provider(ready(profile, dict.fromkeys(KEYS, "k"))))
    assert len(made) > 5 and set(Path("/proc/self/fd").iterdir()) <= before
