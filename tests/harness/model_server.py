"""A model server on loopback that plays a script and keeps every request, for `robota` in a terminal."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cli.scripts import write_settings
from tests.fakellm.server import running
from tests.harness.cli import Robota


class ModelServer:
    """The requests that the server got, as Chat Completions."""

    def __init__(self, bodies: Path) -> None:
        self._bodies = bodies

    def messages(self) -> list[dict[str, Any]]:
        """The messages of the newest request, without the system prompt."""
        newest = max(path for path in self._bodies.iterdir() if json.loads(path.read_text()).get("tools"))
        return [each for each in json.loads(newest.read_text())["messages"] if each["role"] != "system"]

    def texts(self) -> list[tuple[str, str]]:
        """Role and text of each message of the newest request."""
        return [(each["role"], _text(each["content"])) for each in self.messages()]


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content)
    return content or ""


@contextmanager
def model_server(robota: Robota, *turns: dict[str, Any], **options: Any) -> Iterator[ModelServer]:
    """Make such a server, with these turns (as in `tests.fakellm`), the current provider."""
    with tempfile.TemporaryDirectory(prefix="model-server-") as directory:
        script = Path(directory, "script.json")
        script.write_text(json.dumps(turns))
        bodies = Path(directory, "bodies")
        with running(f"script:{script}", dump=str(bodies)) as server:
            profile = {"type": "openai-compatible", "baseURL": f"{server.url}/v1", "model": "fake-model", **options}
            write_settings(robota, {"currentProvider": "fake", "providers": {"fake": profile}})
            yield ModelServer(bodies)
