"""A connection to a language server: requests with their answers, notifications, and its requests to us."""

import asyncio
import os
from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar

import msgspec

from robota.workspace.language_servers.messages import METHOD_NOT_FOUND, BrokenStream, MessageReader, RpcMessage, framed

MAX_UNSENT_BYTES: Final = 64 * 1024 * 1024
T = TypeVar("T")


class ServerEnded(Exception):
    """The server ended, or sent or took something that cannot be. The text says which."""


class RequestFailed(Exception):
    """The server answered a request with an error. The text is its own."""


class NotAnswered(Exception):
    """The server did not answer in time."""


class Pipes(Protocol):
    """The process of a server: its input as a descriptor that does not block; what it prints comes by a callback."""

    @property
    def input(self) -> int | None: ...

    def kill(self) -> None: ...


class Connection:
    """One server. `on_notice` gets its notifications, `answer` its requests, both on the event loop."""

    def __init__(
        self, on_notice: Callable[[str, msgspec.Raw], None], answer: Callable[[str, msgspec.Raw], Any]
    ) -> None:
        self._on_notice = on_notice
        self._answer = answer
        self._reader = MessageReader()
        self._pipes: Pipes | None = None
        self._next_id = 0
        self._waiting: dict[int, asyncio.Future[RpcMessage]] = {}
        self._unsent = bytearray()
        self._is_writing = False
        self.ended: str | None = None  # why, once it has

    def open(self, pipes: Pipes) -> None:
        """Use these pipes; `received` and `end` are to be called with what comes from the process."""
        self._pipes = pipes

    async def request(self, method: str, params: Any, result: type[T], timeout_s: float) -> T:
        """The answer to a request. Raises `ServerEnded`, `RequestFailed` or `NotAnswered`."""
        if self.ended is not None:
            raise ServerEnded(self.ended)
        self._next_id += 1
        number = self._next_id
        answered = self._waiting[number] = asyncio.get_running_loop().create_future()
        # Some servers refuse a parameter that is null where it may be missing.
        self._send({"id": number, "method": method, **({} if params is None else {"params": params})})
        try:
            async with asyncio.timeout(timeout_s):
                message = await answered
        except TimeoutError as error:
            raise NotAnswered(f"no answer within {timeout_s:g} s") from error
        finally:
            if self._waiting.pop(number, None) is not None and not answered.done():
                self.notify("$/cancelRequest", {"id": number})
        if message.error is not None:
            raise RequestFailed(message.error.message)
        try:
            return msgspec.json.decode(message.result, type=result)
        except msgspec.DecodeError as error:
            raise RequestFailed(f"its answer is not valid: {error}") from error

    def notify(self, method: str, params: Any) -> None:
        """Send a notification; nothing happens if the server has ended."""
        if self.ended is None:
            self._send({"method": method, **({} if params is None else {"params": params})})

    def received(self, data: bytes) -> None:
        """Handle what the server has printed."""
        try:
            messages = self._reader.feed(data)
        except BrokenStream as error:
            self.end(str(error))
            return
        for message in messages:
            self._handle(message)

    def end(self, why: str) -> None:
        """The server has ended, or is not to be used any longer: fail what is waiting, and kill it."""
        if self.ended is not None:
            return
        self.ended = why
        if self._is_writing and self._pipes is not None and self._pipes.input is not None:
            asyncio.get_running_loop().remove_writer(self._pipes.input)
        self._is_writing = False
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(ServerEnded(why))
                future.exception()  # nobody may be waiting for it any longer
        self._waiting.clear()
        if self._pipes is not None:
            self._pipes.kill()

    def _handle(self, message: RpcMessage) -> None:
        if message.method is None:
            answered = self._waiting.pop(message.id, None) if isinstance(message.id, int) else None
            if answered is not None and not answered.done():
                answered.set_result(message)
        elif message.id is None:
            self._on_notice(message.method, message.params)
        else:
            self._send({"id": message.id, **self._answered(message.method, message.params)})

    def _answered(self, method: str, params: msgspec.Raw) -> dict[str, Any]:
        try:
            return {"result": self._answer(method, params)}
        except NotImplementedError:
            return {"error": {"code": METHOD_NOT_FOUND, "message": f"{method} is not supported"}}

    def _send(self, message: dict[str, Any]) -> None:
        self._unsent += framed(message)
        if len(self._unsent) > MAX_UNSENT_BYTES:
            self.end("it does not read what it is sent")
        elif not self._is_writing:
            self._write()

    def _write(self) -> None:
        """Write what the pipe takes now, and the rest when it takes more."""
        descriptor = None if self._pipes is None else self._pipes.input
        if descriptor is None or self.ended is not None:
            return
        try:
            while self._unsent:
                del self._unsent[: os.write(descriptor, self._unsent)]
        except BlockingIOError:
            pass
        except OSError as error:
            self.end(f"it does not read what it is sent ({error.strerror})")
            return
        loop = asyncio.get_running_loop()
        if self._unsent and not self._is_writing:
            loop.add_writer(descriptor, self._write)
        elif not self._unsent and self._is_writing:
            loop.remove_writer(descriptor)
        self._is_writing = bool(self._unsent)
