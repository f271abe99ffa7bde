"""The last run of each executable acceptance criterion, stored outside the workspace."""

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import msgspec

from robota.config.durable_file import read_file
from robota.config.transaction import transaction
from robota.contracts.tool import ToolResult
from robota.intents.trace_record import timestamp


class CriterionRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run: `why` says what went wrong if it did not pass."""

    passed: bool
    at: str
    why: str = ""


# By intent, then by command.
Runs = dict[str, dict[str, CriterionRun]]


class CriterionRuns:
    """The runs of a workspace, for display only: completing an intent runs its criteria again."""

    def __init__(self, root: Path, user_directory: Path) -> None:
        self._directory = user_directory / "intents"
        self._path = self._directory / f"{sha256(os.fsencode(root.resolve())).hexdigest()[:32]}.json"

    def all(self) -> Runs:
        """All runs; empty if the file cannot be read."""
        try:
            return _decoded(read_file(self._path))
        except OSError:
            return {}

    def note_result(self, intent_id: str, command: str, result: ToolResult) -> None:
        """Store the result of a call that ran a criterion. What cannot be stored is only not shown."""
        run = CriterionRun(passed=not result.is_error, at=timestamp(), why=result.content[-500:] * result.is_error)
        with suppress(OSError):
            self.note(intent_id, command, run)

    def note(self, intent_id: str, command: str, run: CriterionRun) -> None:
        """Store a run. Raises `OSError`."""
        with transaction(self._directory) as files:
            runs = _decoded(files.read(self._path.name) or b"")
            runs.setdefault(intent_id, {})[command] = run
            files.write(self._path.name, msgspec.json.encode(runs))


def _decoded(data: bytes) -> Runs:
    try:
        return msgspec.json.decode(data, type=Runs)
    except (msgspec.DecodeError, RecursionError):
        return {}
