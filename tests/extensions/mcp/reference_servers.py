"""The reference servers of the protocol, which npm brings. `scripts/setup dev` installs them, if it can."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

INSTALLED_IN = Path(__file__).parents[3] / ".venv/mcp-servers/node_modules/.bin"


def installed(program: str, *arguments: str) -> dict[str, Any]:
    """The entry of a server; the test is skipped if it is not installed."""
    place = os.environ.get("ROBOTA_TEST_MCP_SERVERS", str(INSTALLED_IN))
    path = shutil.which(program, path=place)
    if path is None or shutil.which("node") is None:
        pytest.skip(f"{program} is not installed, or node is not; `make mcp-servers` installs it")
    return {"command": path, "args": list(arguments)}
