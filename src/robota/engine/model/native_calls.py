"""Tool calls from native function calling, put together as their pieces stream in."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from robota.contracts.tool import ToolCall
from robota.providers.chunks import CallArgumentsChunk, CallStartChunk
from robota.text.surrogate_pairs import with_whole_characters

FIRST_ARGUMENT_LENGTH: Final = 200
ID_LENGTH: Final = 64
# Two such escapes are one character. One alone is nothing that could be a path, a command or text in a file.
HALF_CHARACTER: Final = re.compile(r"\\u[dD][89a-fA-F]")


class FirstArgument:
    """Reads the value of the first argument out of JSON that is still being written.

    A person wants to see which file is about to be written long before its content is complete.
    """

    def __init__(self) -> None:
        self._seen = ""
        self._done = False

    def feed(self, json_text: str) -> str | None:
        """The value, once, as soon as it is known; None before and after."""
        if self._done:
            return None
        self._seen += json_text
        match = FIRST_VALUE.match(self._seen)
        if match is None:
            self._done = len(self._seen) > 4 * FIRST_ARGUMENT_LENGTH
            return None
        self._done = True
        try:
            value: Any = json.loads(match.group(1))
        except ValueError:
            return None
        return value if isinstance(value, str) else match.group(1)


# The first key, then a complete string, or a number or literal that something already follows.
FIRST_VALUE: Final = re.compile(r'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*("(?:[^"\\]|\\.)*"|[^\s",\[\]{}]+(?=[\s,}]))')


class CallDraft:
    """One call that is being written."""

    def __init__(self, id: str, given_id: str, name: str) -> None:
        self.id = id
        self.given_id = given_id
        self.name = name
        self._pieces: list[str] = []
        self._first = FirstArgument()

    def feed(self, json_text: str) -> str | None:
        self._pieces.append(json_text)
        return self._first.feed(json_text)

    def finish(self) -> ToolCall:
        arguments, problem = self._arguments("".join(self._pieces))
        return ToolCall(id=self.id, given_id=self.given_id, name=self.name, input=arguments, problem=problem)

    def _arguments(self, text: str) -> tuple[dict[str, Any], str | None]:
        if not self.name:
            return {}, "The call names no tool."
        try:
            arguments: Any = json.loads(text) if text.strip() else {}
        except (ValueError, RecursionError) as error:
            return {}, f"The arguments are not valid JSON ({error}). They began: {text[:200]}"
        if not isinstance(arguments, dict):
            return {}, f"The arguments must be a JSON object, not {type(arguments).__name__}."
        if HALF_CHARACTER.search(text) and with_whole_characters(arguments) != arguments:
            return {}, "The arguments hold an escape that is half of a character. Write the whole character."
        return arguments, None


class CallAssembler:
    """Collects the calls of one reply. Pieces belong together by index; ids are made safe and unique."""

    def __init__(self, new_id: Iterator[str]) -> None:
        self._new_id = new_id
        self._drafts: dict[int, CallDraft] = {}
        self._ids: set[str] = set()

    def start(self, chunk: CallStartChunk) -> CallDraft:
        """Begin a call, or complete what is known of one: some servers repeat or delay id and name."""
        draft = self._drafts.get(chunk.index)
        if draft is None:
            draft = self._drafts[chunk.index] = CallDraft(self._unique(chunk.id), chunk.id, chunk.name)
        elif chunk.name and not draft.name:
            draft.name = chunk.name
        return draft

    def feed(self, chunk: CallArgumentsChunk) -> tuple[CallDraft, str | None]:
        draft = self._drafts.get(chunk.index)
        if draft is None:
            draft = self.start(CallStartChunk(index=chunk.index, id="", name=""))
        return draft, draft.feed(chunk.json)

    def _unique(self, id: str) -> str:
        clean = re.sub(r"[^A-Za-z0-9_-]", "_", id)[:ID_LENGTH]
        while not clean or clean in self._ids:
            clean = next(self._new_id)
        self._ids.add(clean)
        return clean
