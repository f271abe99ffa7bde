"""JSON-RPC 2.0 over lines, both ways: requests of the editor are handled side by side, ours get their results."""

import asyncio
from asyncio import Future
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from itertools import count
from typing import Any, Final

import msgspec

from robota.clients.headless.output import Output, OutputLost

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
REQUEST_CANCELLED: Final = -32800
AUTH_REQUIRED: Final = -32000
RESOURCE_NOT_FOUND: Final = -32002
CANCEL: Final = "$/cancel_request"


class RpcError(Exception):
    """An error of the protocol: one that we answer with, or one that the editor answered with."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class EditorGone(RpcError):
    """The editor has closed the connection, so nobody answers."""

    def __init__(self) -> None:
        super().__init__(INTERNAL_ERROR, "The editor does not answer any more.")


class RpcResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a request, and what follows once the editor has it."""

    result: Any = msgspec.field(default_factory=dict)
    then: Callable[[], None] | None = None


HandleRequest = Callable[[str, Any], Awaitable[RpcResult]]
HandleNotification = Callable[[str, Any], None]


class AcpConnection:
    """The connection to an editor."""

    def __init__(self, lines: AsyncIterator[bytes | str], output: Output) -> None:
        """A line that could not be read is a string that says why."""
        self._lines = lines
        self._output = output
        self._numbers = count(1)
        self._waiting: dict[int, Future[Any]] = {}
        self._handling: dict[Any, asyncio.Task[None]] = {}

    async def follow(self, handle: HandleRequest, notice: HandleNotification) -> None:
        """Handle what comes until the editor sends nothing more; then requests of ours fail, and its own end."""
        try:
            async for line in self._lines:
                self._take(line, handle, notice)
        finally:
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(EditorGone())
            for task in self._handling.values():
                task.cancel()

    def notify(self, method: str, params: Any) -> None:
        """Tell the editor something."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    async def request(self, method: str, params: Any) -> Any:
        """Ask the editor for something. Raises `RpcError`. When cancelled, the editor is told to forget it."""
        number = next(self._numbers)
        answer: Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            return await answer
        except asyncio.CancelledError:
            self.notify(CANCEL, {"requestId": number})
            raise
        finally:
            del self._waiting[number]

    def _take(self, line: bytes | str, handle: HandleRequest, notice: HandleNotification) -> None:
        message = self._message_in(line)
        if message is None:
            return
        method, number = message.get("method"), message.get("id")
        if not isinstance(method, str):
            self._settle(message)
        elif "id" not in message:
            self._hear(method, message.get("params"), notice)
        elif isinstance(number, bool) or not isinstance(number, int | str | None) or number in self._handling:
            self._fail(None, RpcError(INVALID_REQUEST, "The id must be a number or a string that is not in use."))
        else:
            task = asyncio.create_task(self._handle(number, method, message.get("params"), handle))
            self._handling[number] = task
            task.add_done_callback(lambda _: self._handling.pop(number, None))

    def _message_in(self, line: bytes | str) -> dict[str, Any] | None:
        """The object in a line. One that is none is answered with an error, and changes nothing."""
        if isinstance(line, str):
            self._fail(None, RpcError(PARSE_ERROR, line))
            return None
        try:
            message = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            self._fail(None, RpcError(PARSE_ERROR, f"This line is not JSON, and was ignored: {error}."))
            return None
        if not isinstance(message, dict):
            self._fail(None, RpcError(INVALID_REQUEST, "This line is not a JSON object, and was ignored."))
            return None
        return message

    def _settle(self, message: dict[str, Any]) -> None:
        """Give a request of ours its result. Answers to requests that never were, or are over, are ignored."""
        number = message.get("id")
        waiting = self._waiting.get(number) if isinstance(number, int) else None
        if waiting is None or waiting.done():
            return
        error = message.get("error")
        if isinstance(error, dict):
            code = error.get("code")
            text = str(error.get("message") or "The editor answered with an error.")
            waiting.set_exception(RpcError(code if isinstance(code, int) else INTERNAL_ERROR, text))
        else:
            waiting.set_result(message.get("result"))

    def _hear(self, method: str, params: Any, notice: HandleNotification) -> None:
        if method != CANCEL:
            notice(method, params)
            return
        task = self._handling.get(params.get("requestId")) if isinstance(params, dict) else None
        if task is not None:
            task.cancel()

    async def _handle(self, number: Any, method: str, params: Any, handle: HandleRequest) -> None:
        try:
            reply = await handle(method, params)
        except asyncio.CancelledError:
            self._fail(number, RpcError(REQUEST_CANCELLED, "The request was cancelled."))
            return
        except msgspec.ValidationError as error:
            self._fail(number, RpcError(INVALID_PARAMS, f"The parameters of {method} are wrong: {error}."))
            return
        except RpcError as error:
            self._fail(number, error)
            return
        self._send({"jsonrpc": "2.0", "id": number, "result": reply.result})
        if reply.then is not None:
            reply.then()

    def _fail(self, number: Any, error: RpcError) -> None:
        content = {"code": error.code, "message": str(error), **({} if error.data is None else {"data": error.data})}
        self._send({"jsonrpc": "2.0", "id": number, "error": content})

    def _send(self, message: dict[str, Any]) -> None:
        # An editor that reads no more is gone; the end of its input ends the connection.
        with suppress(OutputLost):
            self._output.json_line(message)
