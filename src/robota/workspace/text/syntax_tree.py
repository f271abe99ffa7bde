"""Find the first syntax error of a text, or its shape, with tree-sitter: the program that `syntax_worker` runs.

No other module may import it: some texts crash it.
"""

import ast
import sys
import warnings

import msgspec
from tree_sitter import Node

from robota.workspace.problems import BinaryContent
from robota.workspace.process.python_child import limit_this_process
from robota.workspace.text.encoding import decode
from robota.workspace.text.grammar import grammar_of, in_ascii, parsed
from robota.workspace.text.syntax_worker import (
    Finding,
    NotParsed,
    SyntaxBreak,
    SyntaxRequest,
    TreeShape,
)
from robota.workspace.text.tree_shape import shape_of_python, shape_of_tree

MAX_SECONDS = 0.5
SHOWN_CHARACTERS = 200
# In characters, because Python's compiler has no time limit.
MAX_COMPILED = 500_000


def first_error(language: str, data: bytes, max_seconds: float = MAX_SECONDS) -> Finding:
    """The first error; None if there is none."""
    grammar = grammar_of(language)
    if grammar is None:
        return NotParsed()
    try:
        text = decode(data).content.replace("\r\n", "\n").replace("\r", "\n")
    except BinaryContent:
        return NotParsed()
    root = parsed(grammar, in_ascii(text), max_seconds)
    if root is None:
        return NotParsed()
    if root.has_error:
        return _break(language, text, _first_faulty(root))
    return _indentation_error(text) if language == "python" else None


def shape(language: str, data: bytes, max_seconds: float = MAX_SECONDS) -> TreeShape | NotParsed:
    """The shape of a text; `NotParsed` if it has errors."""
    grammar = grammar_of(language)
    try:
        text = decode(data).content.replace("\r\n", "\n").replace("\r", "\n")
    except BinaryContent:
        return NotParsed()
    if language == "python" and len(text) <= MAX_COMPILED:
        digest = shape_of_python(text)
    else:
        root = None if grammar is None else parsed(grammar, in_ascii(text), max_seconds)
        digest = None if root is None or root.has_error else shape_of_tree(root, text)
    return NotParsed() if digest is None else TreeShape(digest)


def _first_faulty(root: Node) -> Node:
    """The first and innermost node that is itself an error: something unexpected, or something missing."""
    node = root
    while inner := next((child for child in node.children if child.has_error), None):
        node = inner
    return node


def _break(language: str, source: str, node: Node) -> SyntaxBreak:
    row, column = node.start_point
    return SyntaxBreak(
        language=language,
        line=row + 1,
        column=column + 1,
        text=source.split("\n")[row][:SHOWN_CHARACTERS],
        problem=_problem(node),
    )


def _problem(node: Node) -> str:
    if node.is_missing:
        return f"{node.type!r} is missing"
    (first, _), (last, _) = node.start_point, node.end_point
    lines = last - first
    return f"there is a syntax error that reaches over {lines} more lines" if lines else "there is a syntax error"


def _indentation_error(text: str) -> SyntaxBreak | None:
    """The grammar accepts any indentation, so the compiler checks it; its other errors depend on its version."""
    if len(text) > MAX_COMPILED:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "edited file", "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    except IndentationError as error:
        return SyntaxBreak(
            language="python",
            line=error.lineno or 1,
            column=error.offset or 1,
            text=(error.text or "").rstrip("\n")[:SHOWN_CHARACTERS],
            problem=f"there is an indentation error ({error.msg})",
        )
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return None


def main() -> None:
    """Answer requests until standard input is closed."""
    limit_this_process()
    while line := sys.stdin.buffer.readline():
        request = msgspec.json.decode(line, type=SyntaxRequest)
        data = sys.stdin.buffer.read(request.size)
        answer = shape(request.language, data) if request.wants_shape else first_error(request.language, data)
        sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
