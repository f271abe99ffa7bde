"""Keys from a terminal, read without blocking: what was typed before a question is never an answer to it."""

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
# From a terminal that does not mark pastes, their lines follow one another faster than anybody types.
PASTE_PAUSE_S: Final = 0.03


class Console:
    """Reads keys. What nobody waits for goes to `on_idle_text`: a text that was entered, or None for Ctrl+D."""

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
        self.is_entered = False  # the text ends with an Enter and is about to be delivered
        self._delivery: asyncio.TimerHandle | None = None
        self._waiting: asyncio.Future[str | None] | None = None
        self.at_end = False

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Read within this context; outside of it the terminal is as it was."""
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
        """Within this context another program has the terminal."""
        self.pause()
        try:
            yield
        finally:
            self.resume()

    def pause(self) -> None:
        """Leave the terminal to somebody else."""
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
        """Throw away what has been typed and not been taken; returns it."""
        self._stop_delivery()
        while self._is_ready and (data := self._bytes()):
            for key in self._keys.feed(data):
                self._editor.press(key)
        self.is_entered = False
        return self._editor.take().strip()

    async def typed(self) -> str | None:
        """The next text that is entered; None at the end of the input."""
        if self.at_end:
            return None
        self._waiting = asyncio.get_running_loop().create_future()
        try:
            return await self._waiting
        finally:
            self._waiting = None

    def _read(self) -> None:
        if not self._is_ready:
            return  # it has been forgotten meanwhile
        data = self._bytes()
        self._stop_delivery()
        for key in self._keys.feed(data):
            self._press(key)
        if not data:
            self._deliver()
            self._end()
        elif not self.at_end:
            self._delivery = asyncio.get_running_loop().call_later(PASTE_PAUSE_S, self._deliver)

    def _press(self, key: KeyPress) -> None:
        if key is Key.END and (self.is_entered or not self._editor.text):
            self._deliver()
            self._end()
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

    def _end(self) -> None:
        self.at_end = True
        asyncio.get_running_loop().remove_reader(self._descriptor)
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)
        elif self._is_there:
            self._on_idle_text(None)

    @property
    def _is_there(self) -> bool:
        """Whether the terminal still is; of one that is gone a signal tells."""
        try:
            termios.tcgetattr(self._descriptor)
        except termios.error:
            return False
        return True
