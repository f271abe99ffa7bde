"""Read keys from a terminal without blocking; input typed before a question never answers it."""

import asyncio
import contextlib
import os
import select
import termios
from collections.abc import Callable, Iterator
from typing import Final

from robota.clients.plain.line_editor import LineEditor
from robota.clients.terminal.guard import StartGuard, TerminalGuard
from robota.clients.terminal.key_modes import KeyModes
from robota.clients.terminal.keys import Key, KeyDecoder, KeyPress

READ_BYTES: Final = 64 * 1024
# Without bracketed paste, the lines of a paste arrive faster than anyone types.
PASTE_PAUSE_S: Final = 0.03


class Console:
    """Reads keys. Text that is entered while no caller waits goes to `on_idle_text`; None for Ctrl+D."""

    def __init__(
        self,
        descriptor: int,
        editor: LineEditor,
        on_idle_text: Callable[[str | None], None],
        start_guard: StartGuard | None = None,
    ) -> None:
        self._descriptor = descriptor
        self._editor = editor
        self._on_idle_text = on_idle_text
        self._modes = KeyModes(descriptor)
        self._start_guard = start_guard
        self._guard: TerminalGuard | None = None
        self._keys = KeyDecoder()
        self.is_entered = False  # the text was entered and is about to be delivered
        self._delivery: asyncio.TimerHandle | None = None
        self._waiting: asyncio.Future[str | None] | None = None
        self.at_end = False

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Read within this context; outside, the terminal has its original modes."""
        self.resume()
        try:
            yield
        finally:
            self.pause()
            self._stop_delivery()
            if self._guard is not None:
                self._guard.close()

    @contextlib.contextmanager
    def lent(self) -> Iterator[None]:
        """Let another program use the terminal within this context."""
        self.pause()
        try:
            yield
        finally:
            self.resume()

    def pause(self) -> None:
        """Stop reading and restore the terminal for another program."""
        asyncio.get_running_loop().remove_reader(self._descriptor)
        self._editor.lines.ask_for_marked_pastes(False)
        self._modes.leave()
        if self._guard is not None:
            self._guard.released()

    def resume(self) -> None:
        """Read again, as after `fg`."""
        if not self.at_end:
            self._modes.enter()
            self._be_guarded()
            self._editor.lines.ask_for_marked_pastes(True)
            asyncio.get_running_loop().add_reader(self._descriptor, self._read)

    def _be_guarded(self) -> None:
        if self._guard is None and self._start_guard is not None and self._modes.before is not None:
            self._guard = self._start_guard(self._modes.before)
        if self._guard is not None:
            self._guard.taken(is_alternate=False)

    def forget(self) -> str:
        """Discard typed text that was not delivered; returns it."""
        self._stop_delivery()
        while self._is_ready and (data := self._bytes()):
            for key in self._keys.feed(data):
                self._editor.press(key)
        self.is_entered = False
        return self._editor.take().strip()

    async def typed(self) -> str | None:
        """Wait for the next entered text; None at the end of the input."""
        if self.at_end:
            return None
        self._waiting = asyncio.get_running_loop().create_future()
        try:
            return await self._waiting
        finally:
            self._waiting = None

    def _read(self) -> None:
        if not self._is_ready:
            return  # discarded meanwhile
        data = self._bytes()
        self._stop_delivery()
        for key in self._keys.feed(data):
            self._press(key)
        if not data:
            self._deliver()
            self._note_end()
        elif not self.at_end:
            self._delivery = asyncio.get_running_loop().call_later(PASTE_PAUSE_S, self._deliver)

    def _press(self, key: KeyPress) -> None:
        if key is Key.END and (self.is_entered or not self._editor.text):
            self._deliver()
            self._note_end()
            return
        self._editor.press(key)
        self.is_entered = key is Key.ENTER

    def _deliver(self) -> None:
        if not self._keys.is_pasting:
            self._keys.drop_unfinished()
        if not self.is_entered:
            return
        self.is_entered = False
        text = self._editor.take().removesuffix("\n")
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(text)
        else:
            self._on_idle_text(text)

    def _stop_delivery(self) -> None:
        if self._delivery is not None:
            self._delivery.cancel()

    @property
    def _is_ready(self) -> bool:
        return bool(select.select([self._descriptor], [], [], 0)[0])

    def _bytes(self) -> bytes:
        try:
            return os.read(self._descriptor, READ_BYTES)
        except OSError:
            return b""  # the terminal is gone

    def _note_end(self) -> None:
        self.at_end = True
        asyncio.get_running_loop().remove_reader(self._descriptor)
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)
        elif self._is_there:
            self._on_idle_text(None)

    @property
    def _is_there(self) -> bool:
        """Whether the terminal still exists; if not, a signal will arrive too."""
        try:
            termios.tcgetattr(self._descriptor)
        except termios.error:
            return False
        return True
