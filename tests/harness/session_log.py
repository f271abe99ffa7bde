"""Reads the log of a session whose process may still be writing, or was killed while it wrote."""

import json
from pathlib import Path
from typing import Any


def log_text(session: Path) -> str:
    """The complete lines of the log in a session directory. A last line without its end is not written yet."""
    written = (session / "log.jsonl").read_bytes()
    return written[: written.rfind(b"\n") + 1].decode()


def log_records(session: Path) -> list[dict[str, Any]]:
    """The complete records of the log in a session directory."""
    return [json.loads(line) for line in log_text(session).split("\n") if line]
