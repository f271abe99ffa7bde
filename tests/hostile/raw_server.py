"""Writes down what the raw MCP server is to say, and its entry in the settings."""

import json
import sys
from pathlib import Path
from typing import Any

SERVER = Path(__file__).with_name("raw_mcp_server.py")
ANSWER = '{"content": [{"type": "text", "text": "plain answer"}]}'
SCHEMA = '{"type": "object", "properties": {}}'


class RawServer:
    """`heard` are the messages that it was sent."""

    def __init__(
        self, directory: Path, *, tools: str | None = None, answer: str = ANSWER, before: tuple[str, ...] = ()
    ) -> None:
        self._heard = directory / "raw-heard"
        self._plan = directory / "raw-plan.json"
        told = {"tools": tools or listing(tool()), "answer": answer, "before": before, "heard": str(self._heard)}
        self._plan.write_text(json.dumps(told))

    @property
    def entry(self) -> dict[str, Any]:
        return {"command": sys.executable, "args": [str(SERVER), str(self._plan)]}

    @property
    def heard(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._heard.read_text().splitlines()]


def tool(name: str = "note", *, schema: str = SCHEMA, description: str = "Notes.", more: str = "") -> str:
    """A definition as JSON; `schema` and `more` are put in as they are."""
    return f'{{"name": {json.dumps(name)}, "description": {json.dumps(description)}, "inputSchema": {schema}{more}}}'


def listing(*tools: str) -> str:
    return f'{{"tools": [{", ".join(tools)}]}}'
