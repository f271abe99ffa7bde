"""Read the symbols of texts in processes of their own, see `parser_child`."""

from collections.abc import Sequence
from pathlib import PurePath
from typing import Final

import msgspec

from robota.workspace.code.symbol import (
    Answer,
    FileSymbols,
    Occurrences,
    OccurrencesRequest,
    Request,
    SymbolsRequest,
    Unreadable,
)
from robota.workspace.process.python_child import module_command
from robota.workspace.text.parser_child import NoAnswer, ParserChild
from robota.workspace.text.syntax import BY_SUFFIX

PROGRAM: Final = module_command("robota.workspace.code.symbol_child")
# Of the languages whose grammar is there, these have names that others use.
LANGUAGES: Final = frozenset({"bash", "go", "java", "javascript", "python", "rust", "tsx", "typescript"})
SUFFIXES: Final = frozenset(suffix for suffix, language in BY_SUFFIX.items() if language in LANGUAGES)
# Longer files are data, or generated.
MAX_BYTES: Final = 1024 * 1024
MAX_ANSWER_BYTES: Final = 8 * 1024 * 1024
ANSWER_S: Final = 10.0


def language_of(path: str) -> str | None:
    """The language whose grammar reads this file; None if there is none."""
    language = BY_SUFFIX.get(PurePath(path).suffix.lower())
    return language if language in LANGUAGES else None


class SymbolReader:
    """One process that reads texts, one at a time; thread-safe."""

    def __init__(self, program: Sequence[str] = PROGRAM, answer_s: float = ANSWER_S) -> None:
        self._child = ParserChild(program, MAX_ANSWER_BYTES, answer_s)

    def symbols(self, path: str, data: bytes) -> FileSymbols | None:
        """What a file defines and uses; None if it cannot be read."""
        language = language_of(path)
        if language is None or len(data) > MAX_BYTES:
            return None
        answer = self._answer(SymbolsRequest(language=language, size=len(data)), data)
        return answer if isinstance(answer, FileSymbols) else None

    def occurrences(self, path: str, data: bytes, name: str) -> Occurrences | None:
        """Where a name stands as code in a file; None if it cannot be read."""
        language = language_of(path)
        if language is None or len(data) > MAX_BYTES:
            return None
        answer = self._answer(OccurrencesRequest(language=language, size=len(data), name=name), data)
        return answer if isinstance(answer, Occurrences) else None

    def end(self) -> None:
        """End the process; the next text starts another."""
        self._child.end()

    def _answer(self, request: Request, data: bytes) -> Answer:
        try:
            answer: Answer = msgspec.json.decode(self._child.ask(msgspec.json.encode(request), data), type=Answer)
        except (NoAnswer, msgspec.DecodeError):
            return Unreadable()
        return answer
