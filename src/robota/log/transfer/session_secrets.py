"""Finds the values that a session itself labels as secret, so that they are redacted everywhere in an export."""

from pathlib import Path

import msgspec

from robota.log.artifacts import ARTIFACTS_NAME
from robota.log.chain.growth import LogPosition, records_since
from robota.log.chain.reader import LOG_NAME
from robota.log.transfer.bundle import LARGEST_COVERED, artifact_names
from robota.secrets.stated_secrets import stated_secrets


def secrets_stated_in(directory: Path) -> set[str]:
    """The values that records and artifacts label as a password, key or similar. Raises OSError and `LogError`."""
    found: set[str] = set()
    for grown in records_since(directory / LOG_NAME, LogPosition()):
        found.update(stated_secrets(msgspec.json.decode(grown.record.payload)))
    kept = directory / ARTIFACTS_NAME
    for name in artifact_names(kept):
        if (kept / name).stat().st_size <= LARGEST_COVERED:
            found.update(stated_secrets((kept / name).read_text(errors="replace")))
    return found
