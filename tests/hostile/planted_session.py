"""The log of a session that never was, sealed as a real one: whoever brings a repository can write any."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from robota.log.record import seal
from tests.cli.scripts import sessions
from tests.harness.cli import Robota

Change = Callable[[str, dict[str, Any]], None]


def plant_session(robota: Robota, name: str, change: Change) -> Path:
    """Put the newest session of the workspace there under another name, with payloads as `change` leaves them."""
    original = sessions(robota)[-1] / "log.jsonl"
    lines, head = [], ""
    for line in original.read_bytes().splitlines():
        record = msgspec.json.decode(line)
        change(record["kind"], record["payload"])
        payload = msgspec.json.encode(record["payload"])
        sealed, head = seal(record["seq"], record["ts"], record["kind"], payload, head)
        lines.append(sealed)
    planted = robota.workspace / ".robota/sessions" / name / "log.jsonl"
    planted.parent.mkdir()
    planted.write_bytes(b"".join(lines))
    return planted
