"""Terminals of the editor that show what commands print. The commands themselves run in Robota's sandbox."""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from robota.clients.acp.connection import AcpConnection, RpcError
from robota.clients.acp.received import CreatedTerminal


class TerminalOutput(Protocol):
    """The output of one command on its way to a program that prints it in a terminal."""

    @property
    def command(self) -> list[str]:
        """The program that prints it, and its arguments."""
        ...

    def write(self, text: str) -> None: ...

    def end(self, exit_code: int) -> None:
        """The command has ended; the program ends with the same exit code."""
        ...


class _Terminal:
    def __init__(self, output: TerminalOutput) -> None:
        self.output = output
        self.id: str | None = None
        self.written = ""
        self.is_over = False
        self.task: asyncio.Task[None] | None = None


class EditorTerminals:
    """The terminals of one session, by call."""

    def __init__(
        self,
        connection: AcpConnection,
        session_id: str,
        open_output: Callable[[], TerminalOutput],
        stop: Callable[[], None],
    ) -> None:
        """`stop` stops the command that runs: the user has ended its terminal."""
        self._connection = connection
        self._session_id = session_id
        self._open_output = open_output
        self._stop = stop
        self._terminals: dict[str, _Terminal] = {}

    def begin(self, call_id: str, show: Callable[[str], None]) -> None:
        """Create a terminal for the output of a call; `show` gets its id once the editor has it."""
        terminal = self._terminals[call_id] = _Terminal(self._open_output())
        terminal.task = asyncio.get_running_loop().create_task(self._follow(terminal, show))

    def has(self, call_id: str) -> bool:
        """Whether a call has a terminal."""
        return call_id in self._terminals

    def write(self, call_id: str, text: str) -> None:
        """The whole output of a call so far."""
        terminal = self._terminals[call_id]
        if text.startswith(terminal.written):
            terminal.output.write(text[len(terminal.written) :])
            terminal.written = text

    def end(self, call_id: str, text: str, exit_code: int) -> str | None:
        """The call has ended. Returns the id of its terminal, if the editor has made it by now."""
        terminal = self._terminals.pop(call_id)
        if len(text) > len(terminal.written):
            terminal.output.write(text[len(terminal.written) :] if text.startswith(terminal.written) else text)
        terminal.is_over = True
        terminal.output.end(exit_code)
        return terminal.id

    async def _follow(self, terminal: _Terminal, show: Callable[[str], None]) -> None:
        program, *arguments = terminal.output.command
        try:
            result = await self._request("terminal/create", command=program, args=arguments)
            terminal.id = msgspec.convert(result, CreatedTerminal).terminal_id
            if not terminal.is_over:
                show(terminal.id)
            await self._request("terminal/wait_for_exit", terminalId=terminal.id)
            if not terminal.is_over:
                self._stop()
            await self._request("terminal/release", terminalId=terminal.id)
        except (RpcError, msgspec.ValidationError):
            return  # the call is shown without a terminal

    async def _request(self, method: str, **params: Any) -> Any:
        return await self._connection.request(method, {"sessionId": self._session_id, **params})
