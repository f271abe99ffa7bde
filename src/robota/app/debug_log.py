"""`-d`: write the debug log of a session to a file of the user."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from robota.clients.debug.log import write_debug_log
from robota.config.durable_file import make_private_directory
from robota.config.paths import user_directory
from robota.protocol.port import SessionPort

NAME: Final = "debug.log"
MAX_BYTES: Final = 16 * 1024 * 1024
FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC


@asynccontextmanager
async def debug_log(session: SessionPort, env: Mapping[str, str], warn: Callable[[str], None]) -> AsyncIterator[None]:
    """Log the events of the session until it is closed. If the log cannot be written, the session continues."""
    path = user_directory(env) / NAME
    try:
        descriptor = _opened(path)
    except OSError as error:
        warn(f"The debug log {path} cannot be written: {error.strerror}. The session continues without it.")
        yield
        return
    warn(f"Debug log: {path}")
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace", buffering=1) as file:
        writing = asyncio.create_task(write_debug_log(session, file, _now))
        try:
            yield
        finally:
            # The session is closed by now, so its events end.
            await asyncio.gather(writing, return_exceptions=True)


def _opened(path: Path) -> int:
    """Open the log for appending, so that several sessions can share it; truncated if it has become too large."""
    make_private_directory(path.parent)
    descriptor = os.open(path, FLAGS, 0o600)
    if os.fstat(descriptor).st_size > MAX_BYTES:
        os.truncate(descriptor, 0)
    return descriptor


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
