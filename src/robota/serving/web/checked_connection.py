"""A connection of a browser: who has it is found out before its first byte is read, and it must not dawdle."""

import asyncio
from asyncio import Transport
from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

from robota.serving.web.peers import reason_against

# From connecting to the end of the first headers.
HEADERS_WITHIN_S: Final = 15.0
MAX_UNREAD: Final = 1 << 20


class CheckedConnection(H11Protocol):
    """Serves only processes of the user, and none that an agent has started."""

    _checking: "asyncio.Task[None] | None" = None
    _deadline: "asyncio.TimerHandle | None" = None
    _is_let_in = False
    _unread = b""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        transport.pause_reading()  # without effect in some versions of Python, so `data_received` waits, too
        self._checking = asyncio.get_running_loop().create_task(self._check(transport))

    def data_received(self, data: bytes) -> None:
        if self._is_let_in:
            super().data_received(data)
        elif len(self._unread) + len(data) <= MAX_UNREAD:
            self._unread += data
        else:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._checking is not None:
            self._checking.cancel()
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    async def _check(self, transport: Transport) -> None:
        peer, own = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
        if not peer or not own:
            transport.abort()
            return
        reason = await asyncio.to_thread(reason_against, peer[:2], own[:2])
        if transport.is_closing():
            return
        if reason is not None:
            transport.write(_refusal(reason))
            transport.close()
            return
        self._deadline = asyncio.get_running_loop().call_later(HEADERS_WITHIN_S, self._end_if_silent, transport)
        self._is_let_in = True
        if self._unread:
            super().data_received(self._unread)
        transport.resume_reading()

    def _end_if_silent(self, transport: Transport) -> None:
        cycle: Any = self.cycle
        if cycle is None:  # no request has begun
            transport.abort()


def _refusal(reason: str) -> bytes:
    text = f"This process may not use the page: {reason}. Nothing was changed.\n".encode()
    head = f"HTTP/1.1 403 Forbidden\r\ncontent-type: text/plain\r\ncontent-length: {len(text)}\r\n"
    return f"{head}connection: close\r\n\r\n".encode() + text
