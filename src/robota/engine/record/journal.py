"""Writes what must be durable to the session log, and remembers if that failed."""

from pathlib import Path
from typing import Protocol

from robota.engine.session.bus import EventBus
from robota.log.chain.writer import Appended
from robota.log.errors import LogWriteError
from robota.log.kinds.registry import Payload
from robota.log.kinds.requests import RequestRecord
from robota.protocol.events import Notice
from robota.secrets.redaction import Redactor


class LogPort(Protocol):
    """The part of a session log that the engine uses."""

    @property
    def redactor(self) -> Redactor: ...

    def append(self, payload: Payload) -> Appended: ...

    def next_ts(self) -> int: ...

    async def sync(self) -> None: ...

    def sync_soon(self) -> None: ...

    def keep(self, data: bytes) -> str: ...

    def keep_text(self, text: str) -> str: ...

    async def keep_file(self, path: Path) -> str: ...

    def artifact_path(self, name: str) -> Path: ...


class Journal:
    """Writes to the log. When the log cannot be written, the conversation goes on but nothing may change the machine.

    `trouble` stays set from the first failure on: a later success would leave a gap that nobody sees.
    """

    def __init__(self, log: LogPort, bus: EventBus) -> None:
        self._log = log
        self._bus = bus
        self.trouble: str | None = None

    def write(self, payload: Payload) -> bool:
        """Write a record. Returns whether it is known to hold no secret that clients must not see."""
        if self.trouble is not None:
            return False
        try:
            return self._log.append(payload).is_clean and self._log.redactor is self._bus.redactor
        except LogWriteError as error:
            self._fail(error)
            return False

    async def sync(self) -> None:
        """Return when all that was written is on the disk."""
        if self.trouble is not None:
            return
        try:
            await self._log.sync()
        except LogWriteError as error:
            self._fail(error)

    def sync_soon(self) -> None:
        """Bring what was written to the disk while other work goes on."""
        if self.trouble is None:
            self._log.sync_soon()

    def keep(self, data: bytes) -> str | None:
        """Store an artifact; None if that is not possible."""
        try:
            return self._log.keep(data)
        except LogWriteError as error:
            self._fail(error)
            return None

    def write_request(self, task_id: str, model: str, system: str, tools: bytes) -> None:
        """Record what the requests of a task are made of from here on; equal texts are stored once."""
        if self.trouble is not None:
            return
        try:
            record = RequestRecord(
                task_id=task_id,
                model=model,
                system=self._log.keep_text(system),
                tools=self._log.keep_text(tools.decode("utf-8", "replace")),
            )
            self._log.append(record)
        except LogWriteError as error:
            self._fail(error)

    async def keep_file(self, path: Path) -> str | None:
        """The same for a file, which is moved."""
        try:
            return await self._log.keep_file(path)
        except LogWriteError as error:
            self._fail(error)
            return None

    def kept(self, name: str) -> Path:
        """Where something kept lies; raises `ArtifactMissing`."""
        return self._log.artifact_path(name)

    def next_ts(self) -> int:
        return self._log.next_ts()

    @property
    def warning(self) -> tuple[Notice, ...]:
        """What a client must know that was not there when the trouble began; usually nothing."""
        if self.trouble is None:
            return ()
        text = (
            f"The session log cannot be written: {self.trouble} What is there so far is intact. "
            "Tools that change something are refused from now on; free some space and start again."
        )
        return (Notice(level="warning", text=text),)

    def _fail(self, error: LogWriteError) -> None:
        self.trouble = str(error)
        for notice in self.warning:
            self._bus.emit(notice)
