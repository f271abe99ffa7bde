"""The first request of an ordinary session in every wire format: its outline, and its tokens (four characters each).

The outlines are in `first_requests`. To write them anew after a change, and see with git what it did:
`ROBOTA_UPDATE_OUTLINES=1 .venv/bin/python -m pytest tests/engine/context/test_first_request.py`
"""

import asyncio
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from robota.app.session import open_session
from robota.config.launch_options import LaunchOptions
from tests.engine.model.bodies import read_by_model, tokens_sent
from tests.engine.model.test_golden_requests import MAX_REQUEST
from tests.engine.stage import Stage, needs_answer
from tests.fakellm.server import running
from tests.providers.vendors import profile_of
from tests.tools.test_tokens import MAX_TOGETHER

DIALECTS = ("anthropic", "responses", "chat", "gemini", "xml")
OUTLINES = Path(__file__).parent / "first_requests"
SHOWN = 60
VARIABLE = {
    re.compile(r"\b[0-9a-f]{8}-[0-9a-f-]{27}\b"): "(id of the session)",
    re.compile(r"\d{4}-\d\d-\d\dT\S+"): "(time)",
}
# The working directory of a usual length, wherever a test runs.
USUAL_DIRECTORY = "/home/user/projects/calculator"


def first_request(workspace: Path, dialect: str, launched: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The body of the first request of a session in a small repository, as if that were in the usual directory."""
    (workspace / "src").mkdir()
    (workspace / "src/calc.py").write_text("def add(a, b):\n    return a + b\n")
    (workspace / "README.md").write_text("# Calculator\n")
    subprocess.run(["git", "add", "."], cwd=workspace, check=True)
    subprocess.run(["git", "commit", "--quiet", "-m", "Add a calculator"], cwd=workspace, check=True)
    script, bodies = workspace.parent / "script.json", workspace.parent / "bodies"
    script.write_text(json.dumps([{"text": "Hello."}]))

    async def run(url: str) -> None:
        launch = LaunchOptions(cwd=workspace, profile=profile_of(dialect, url, **fields), **launched)
        opened = open_session(launch, {"ROBOTA_HOME": str(workspace.parent / "robota-home")})
        try:
            stage = Stage(opened)
            await stage.start("Say hello.")
            await stage.until(needs_answer)
        finally:
            await opened.close()

    with running(f"script:{script}", dump=str(bodies)) as server:
        asyncio.run(run(server.url))
    sent = min(bodies.iterdir()).read_text()
    assert str(workspace) in sent
    body: dict[str, Any] = json.loads(sent.replace(str(workspace), USUAL_DIRECTORY))
    return body


def outline(part: Any) -> Any:
    """The shape of a body: a long text by its first line and its headings, and of a list of tools the first one."""
    if isinstance(part, dict):
        return {name: outline(value) for name, value in part.items()}
    if isinstance(part, list):
        names = [_tool_name(each) for each in part]
        return [outline(part[0]), *names[1:]] if len(part) > 1 and all(names) else [outline(each) for each in part]
    if not isinstance(part, str):
        return part
    for pattern, instead in VARIABLE.items():
        part = pattern.sub(instead, part)
    first, *others = part.split("\n")
    shown = first if len(first) <= SHOWN else f"{first[:SHOWN]}…"
    headings = [line for line in others if line.startswith(("# ", "## ", "<"))]
    return [shown, *headings] if headings else shown + (" …" if others else "")


def _tool_name(part: Any) -> str:
    named = part.get("function", part) if isinstance(part, dict) else {}
    return str(named.get("name", ""))


def sent_first(workspace: Path, dialect: str, launched: dict[str, Any], **fields: Any) -> dict[str, Any]:
    if dialect == "xml":
        return first_request(workspace, "chat", launched, options={"nativeTools": False}, **fields)
    return first_request(workspace, dialect, launched, **fields)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_first_request_is_as_outlined_and_within_its_budget(workspace: Path, dialect: str) -> None:
    body = sent_first(workspace, dialect, {})
    assert tokens_sent(body.get("tools", [])) <= MAX_TOGETHER and tokens_sent(read_by_model(body)) <= MAX_REQUEST
    assert ("tools" in body) is (dialect != "xml")
    outlined = json.dumps(outline(body), indent=2, ensure_ascii=False) + "\n"
    recorded = OUTLINES / f"{dialect}.json"
    if os.environ.get("ROBOTA_UPDATE_OUTLINES"):
        recorded.write_text(outlined)
    assert outlined == recorded.read_text()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_longest_first_request_is_within_its_budget_too(workspace: Path, dialect: str) -> None:
    """Of a family that writes patches, in the mode with the longest role, where a tool must end the task."""
    body = sent_first(workspace, dialect, {"mode": "debug", "completion": "explicit"}, model="gpt-5.2")
    sent = json.dumps(body)
    assert "*** Begin Patch" in sent and "attempt_completion" in sent
    assert tokens_sent(body.get("tools", [])) <= MAX_TOGETHER and tokens_sent(read_by_model(body)) <= MAX_REQUEST
