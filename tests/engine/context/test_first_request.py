"""What the first request of an ordinary session costs in every wire format: a token for every four characters."""

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from robota.app.session import open_session
from robota.config.launch_options import LaunchOptions
from tests.engine.stage import Stage
from tests.fakellm.server import running
from tests.providers.vendors import profile_of

MAX_REQUEST = 4_600
MAX_TOOLS = 3_600
# Where the wire formats have the system prompt, the tools and the conversation.
PARTS = {
    "anthropic": ("system", "tools", "messages"),
    "responses": ("instructions", "tools", "input"),
    "chat": ("tools", "messages"),
    "gemini": ("systemInstruction", "tools", "contents"),
}


def first_request(workspace: Path, dialect: str, **options: Any) -> dict[str, Any]:
    """The body of the first request of a session in a small repository."""
    (workspace / "src").mkdir()
    (workspace / "src/calc.py").write_text("def add(a, b):\n    return a + b\n")
    (workspace / "README.md").write_text("# Calculator\n")
    subprocess.run(["git", "add", "."], cwd=workspace, check=True)
    subprocess.run(["git", "commit", "--quiet", "-m", "Add a calculator"], cwd=workspace, check=True)
    script, bodies = workspace.parent / "script.json", workspace.parent / "bodies"
    script.write_text(json.dumps([{"text": "Hello."}]))

    async def run(url: str) -> None:
        launch = LaunchOptions(cwd=workspace, profile=profile_of(dialect, url, options=options))
        opened = open_session(launch, {"ROBOTA_HOME": str(workspace.parent / "robota-home")})
        try:
            stage = Stage(opened)
            await stage.start("Say hello.")
            await stage.until_ask("completion_result")
        finally:
            await opened.close()

    with running(f"script:{script}", dump=str(bodies)) as server:
        asyncio.run(run(server.url))
    body: dict[str, Any] = json.loads(min(bodies.iterdir()).read_bytes())
    return body


def tokens(part: Any) -> int:
    return round(len(json.dumps(part, ensure_ascii=False, separators=(",", ":"))) / 4)


@pytest.mark.parametrize("dialect", PARTS)
def test_the_first_request_stays_within_its_budget(workspace: Path, dialect: str) -> None:
    body = first_request(workspace, dialect)
    costs = {part: tokens(body[part]) for part in PARTS[dialect]}
    assert costs["tools"] <= MAX_TOOLS, costs
    assert sum(costs.values()) <= MAX_REQUEST, costs


def test_calls_as_xml_stay_within_the_same_budget(workspace: Path) -> None:
    body = first_request(workspace, "chat", nativeTools=False)
    assert "tools" not in body
    assert tokens(body["messages"]) <= MAX_REQUEST
