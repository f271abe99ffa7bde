"""A workspace with intents, and sessions in it."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tests.engine.stage import Stage, call, play, tool_results

INTENTS = """\
active_intents:
  - id: INT-001
    name: Sign in with a token
    status: IN_PROGRESS
    owned_scope: [src/auth/**, tests/test_auth.py]
    constraints: [No new dependency]
    acceptance_criteria: ["run: pytest -q tests/test_auth.py"]
  - id: INT-002
    name: Billing
    status: PENDING
    owned_scope: [src/billing/**]
  - id: INT-003
    name: Docs
    status: IN_PROGRESS
    owned_scope: [docs/**]
"""
SELECT = call("select_active_intent", intent_id="INT-001")


def intents(workspace: Path, text: str = INTENTS) -> Path:
    """The workspace says what may be worked on."""
    directory = workspace / ".orchestration"
    directory.mkdir(exist_ok=True)
    (directory / "active_intents.yaml").write_text(text)
    return directory


def write(path: str, content: str = "changed\n") -> dict[str, Any]:
    return call("write_to_file", path=path, content=content)


def turns(*calls: dict[str, Any]) -> list[Any]:
    """One call a turn, then the end."""
    return [*({"calls": [each]} for each in calls), {"text": "done"}]


def results(workspace: Path, *calls: dict[str, Any], **launch: Any) -> list[str]:
    """What the model was told of each call, by a session in which nobody is asked."""
    seen: list[str] = []

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        seen.extend(block.content for block in tool_results(stage))

    play(workspace, turns(*calls), story, **{"attended": False, "permission_mode": "bypassPermissions", **launch})
    return seen


def told(content: str) -> dict[str, Any]:
    """A refusal as the object that it is."""
    value: dict[str, Any] = json.loads(content)
    return value


def traced(workspace: Path) -> list[dict[str, Any]]:
    trace = workspace / ".orchestration" / "agent_trace.jsonl"
    return [json.loads(line) for line in trace.read_text().splitlines()] if trace.exists() else []


Story = Callable[[Stage], Awaitable[None]]
