"""Text that arrives damaged: UTF-16 pairs split over two events, lone halves of a pair, bytes that are not UTF-8.

Strict JSON decoders refuse an event with any of these, and its text would be lost. Such an event is decoded once more
with marks (characters of a private plane) in place of the halves. Two adjacent marks become their character again;
every other mark becomes a replacement character.
"""

import re
from collections.abc import Callable
from typing import Final, TypeVar

import msgspec

from robota.providers.chunks import Chunk

T = TypeVar("T")
# U+D800 to U+DFFF are marked by U+10F000 to U+10F7FF: no font or program is known to use these.
HALF: Final = 0xD800
MARK: Final = 0x10F000
MARKS: Final = re.compile(f"[{chr(MARK)}-{chr(MARK + 0x7FF)}]")
FIRST_HALF_AT_END: Final = re.compile(f"[{chr(MARK)}-{chr(MARK + 0x3FF)}]$")
# A whole pair, a lone half, or any other escape, so that the second backslash of `\\ud800` does not begin one.
ESCAPE: Final = re.compile(rb"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u([dD][89a-fA-F][0-9a-fA-F]{2})|\\.", re.DOTALL)


def decode_with_marks(decode: Callable[[bytes], T], payload: bytes) -> T:
    """Decode JSON with marks for half characters; raises what `decode` raises if that does not help."""
    text = payload.decode("utf-8", "replace").encode()
    return decode(ESCAPE.sub(_marked, text))


def without_marks(text: str) -> str:
    """The text with pairs of marks joined to characters; a lone mark becomes a replacement character."""
    halves, count = MARKS.subn(lambda mark: chr(ord(mark[0]) - MARK + HALF), text)
    return halves.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace") if count else text


class HalfCharacterJoiner:
    """Joins halves within each stream of text: the answer, the thoughts, the arguments of each call.

    A first half at the end of a piece is held back until the next piece of that stream.
    """

    def __init__(self) -> None:
        self._held: dict[object, str] = {}

    def join(self, stream: object, text: str) -> str:
        """The text of a piece with what was held back before it, and without a first half at its end."""
        text = self._held.pop(stream, "") + text
        if FIRST_HALF_AT_END.search(text) is not None:
            self._held[stream] = text[-1]
            text = text[:-1]
        return without_marks(text)

    def whole(self, chunk: Chunk) -> Chunk:
        """The chunk with replacement characters in its names and texts."""
        fields = {name: getattr(chunk, name) for name in chunk.__struct_fields__}
        texts = {name: without_marks(value) for name, value in fields.items() if isinstance(value, str)}
        return msgspec.structs.replace(chunk, **texts)

    def rest(self) -> dict[object, str]:
        """Streams that ended with a first half, with its replacement. Nothing is held back afterwards."""
        held, self._held = self._held, {}
        return {stream: without_marks(half) for stream, half in held.items()}


def _marked(escape: re.Match[bytes]) -> bytes:
    half = escape[1]
    return escape[0] if half is None else chr(int(half, 16) - HALF + MARK).encode()
