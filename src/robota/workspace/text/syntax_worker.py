"""Check the syntax of texts in a separate process, see `parser_child`."""

from collections.abc import Sequence

import msgspec

from robota.workspace.process.python_child import module_command
from robota.workspace.text.parser_child import ANSWER_S, NoAnswer, ParserChild

PROGRAM = module_command("robota.workspace.text.syntax_tree")
MAX_ANSWER_BYTES = 64 * 1024


class SyntaxBreak(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The first syntax error of a file; positions are counted from 1, in characters."""

    language: str
    line: int
    column: int
    text: str
    problem: str


class NotParsed(msgspec.Struct, frozen=True, tag=True):
    """The text was not checked: no grammar, not text, or it would take too long."""


class TreeShape(msgspec.Struct, frozen=True, tag=True):
    """A digest of the syntax tree: texts with the same digest differ only in formatting, comments and local names."""

    digest: str


Finding = SyntaxBreak | NotParsed | None


class SyntaxWorker:
    """One process that checks texts, one at a time; thread-safe."""

    def __init__(self, program: Sequence[str] = PROGRAM, answer_s: float = ANSWER_S) -> None:
        self._child = ParserChild(program, MAX_ANSWER_BYTES, answer_s)

    def first_error(self, language: str, data: bytes) -> Finding:
        """The first error in a text; None if there is none, `NotParsed` if the process crashes on it."""
        answer = self._answer(SyntaxRequest(language=language, size=len(data)), data)
        return NotParsed() if isinstance(answer, TreeShape) else answer

    def shape(self, language: str, data: bytes) -> str | None:
        """The digest of the syntax tree; None if there is none, as for a text with errors."""
        answer = self._answer(SyntaxRequest(language=language, size=len(data), wants_shape=True), data)
        return answer.digest if isinstance(answer, TreeShape) else None

    def _answer(self, request: "SyntaxRequest", data: bytes) -> Finding | TreeShape:
        try:
            answer = self._child.ask(msgspec.json.encode(request), data)
            finding: Finding | TreeShape = msgspec.json.decode(answer, type=Finding | TreeShape)
        except (NoAnswer, msgspec.DecodeError):
            return NotParsed()
        return finding


class SyntaxRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The line of JSON before a text."""

    language: str
    size: int
    wants_shape: bool = False
