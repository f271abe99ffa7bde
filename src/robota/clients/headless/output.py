"""Write to standard output: whole lines, UTF-8 in every locale, flushed at once."""

import contextlib
import os
from typing import Any, Final, Protocol

import msgspec

from robota.protocol.codec import encode
from robota.text.visible import without_controls, without_surrogates


class BinaryOutput(Protocol):
    """The part of `sys.stdout.buffer` that we use."""

    def write(self, data: bytes, /) -> int: ...

    def flush(self) -> None: ...

    def fileno(self) -> int: ...

    def isatty(self) -> bool: ...


class OutputLost(Exception):
    """Standard output cannot be written to; `is_closed` if its reader is gone, else the message says why."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"Cannot write to standard output: {error.strerror or error}. The session is saved.")
        self.is_closed = isinstance(error, BrokenPipeError)


class Output:
    """The one writer to standard output. Raises `OutputLost`."""

    def __init__(self, out: BinaryOutput) -> None:
        self._out = out
        # A parent process may pass a non-blocking pipe, which would cut off a long line.
        with contextlib.suppress(OSError, ValueError):
            os.set_blocking(out.fileno(), True)

    def json_line(self, value: Any) -> None:
        self._write(json_bytes(value) + b"\n")

    def text(self, text: str) -> None:
        """Write text; control sequences that a model wrote are never sent to a terminal."""
        shown = without_controls(text) if self._out.isatty() else text
        self._write(without_surrogates(shown).encode())

    def _write(self, data: bytes) -> None:
        try:
            self._out.write(data)
            self._out.flush()
        except OSError as error:
            raise OutputLost(error) from error


def json_bytes(value: Any) -> bytes:
    """JSON without any line break, even for readers that split at Unicode line separators."""
    try:
        line = encode(value)
    except UnicodeEncodeError:
        line = encode(_mended(msgspec.to_builtins(value)))
    for raw, escaped in LINE_SEPARATORS:
        line = line.replace(raw, escaped)
    return line


def _mended(node: Any) -> Any:
    if isinstance(node, str):
        return without_surrogates(node)
    if isinstance(node, dict):
        return {_mended(key): _mended(value) for key, value in node.items()}
    if isinstance(node, list | tuple):
        return [_mended(item) for item in node]
    return node


LINE_SEPARATORS: Final = (
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
    (b"\xc2\x85", b"\\u0085"),
)
