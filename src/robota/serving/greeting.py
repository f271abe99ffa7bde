"""The greeting for a client in another process: which session this is, and which process runs it."""

import os

from robota.app.session import OpenSession
from robota.protocol.connection.lines import PROTOCOL, ServerHello
from robota.version import VERSION


def greeting_of(opened: OpenSession, since_ms: int) -> ServerHello:
    """The first line for clients of the session."""
    return ServerHello(
        protocol=PROTOCOL,
        version=VERSION,
        session_id=opened.options.session_id,
        cwd=str(opened.options.cwd),
        pid=os.getpid(),
        since_ms=since_ms,
    )
