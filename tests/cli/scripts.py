"""Sets up the scripted model for a `robota` process."""

import json
from pathlib import Path
from typing import Any

from robota.config.trust.decision import remember
from robota.config.trust.sources import take_snapshot
from tests.harness.cli import Robota


def script(robota: Robota, *turns: dict[str, Any], **options: Any) -> None:
    """Make the scripted model, with these turns, the current provider of the user who runs `robota`."""
    profile = {
        "type": "scripted",
        "model": "scripted",
        "options": {"turns": list(turns), "retry": {"baseMs": 1, "maxRetries": 2}, **options},
    }
    write_settings(robota, {"currentProvider": "script", "providers": {"script": profile}})


def trust(robota: Robota) -> None:
    """Let the user trust the workspace as it is now; without configuration, that is about its other files."""
    remember("yes", take_snapshot(robota.workspace.resolve()), {"HOME": str(robota.home)}, now_ms=0)


def write_settings(robota: Robota, settings: dict[str, Any]) -> Path:
    path = robota.home / ".robota" / "settings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(settings))
    return path


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def sessions(robota: Robota) -> list[Path]:
    """The session directories of the workspace."""
    return sorted(path for path in (robota.workspace / ".robota" / "sessions").iterdir() if path.is_dir())
