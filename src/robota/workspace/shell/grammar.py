"""The grammar of bash, from tree-sitter. The only module that loads it; imported when a command is first judged."""

import re
from collections.abc import Iterator
from typing import Final

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from robota.workspace.shell.script import Argv, Skeleton

PARSER: Final = Parser(Language(tree_sitter_bash.language()))

NOT_ASCII: Final = re.compile(r"[^\x00-\x7f]")
CONTAINERS: Final = frozenset({"program", "list", "pipeline"})
SEPARATORS: Final = frozenset({"&&", "||", ";", "|", "\n", "comment"})
WORDS: Final = frozenset({"word", "number", "raw_string", "string", "concatenation"})
INSIDE_WORDS: Final = WORDS | {"string_content", '"'}
REDIRECTIONS: Final = frozenset({">", ">>", ">|", "<", "&>", "&>>"})
QUOTES_OF: Final = {"word": "", "raw_string": "'", "string_content": '"'}
# The content of these follows other rules, where our quotes would be part of the text.
READ_TWICE: Final = frozenset({"expansion", "arithmetic_expansion", "heredoc_body", "ERROR"})
# No command contains a NUL byte, so this equals no other skeleton.
NOT_PLAIN: Final = Skeleton(words=("\0",))
MAX_WITHIN: Final = 1_000
QUOTING: Final = str.maketrans("", "", "\"'\\")


def skeletons(command: str) -> tuple[Skeleton, ...] | None:
    """The simple commands according to the grammar; None if it finds anything else. See `in_ascii`."""
    root = _parsed(command)
    if root.has_error:
        return None
    skeletons_found: list[Skeleton] = []
    # An explicit stack instead of recursion: a long chain of commands is a deep tree.
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type in CONTAINERS or _redirects_a_chain(node):
            waiting.extend(reversed(node.children))
        elif node.type == "file_redirect" and skeletons_found:
            # The grammar attaches the redirection of the last command of a chain to the whole chain.
            skeletons_found[-1] = _combined(skeletons_found[-1], _skeleton([node]))
        elif node.type in {"command", "redirected_statement"}:
            skeletons_found.append(_skeleton(list(_parts(node))))
        elif node.type not in SEPARATORS:
            return None
    return None if NOT_PLAIN in skeletons_found else tuple(skeletons_found)


def commands_within(command: str) -> tuple[Argv, ...]:
    """Everything that looks like a command, at any depth. A hint, never a proof."""
    commands: list[Argv] = []
    waiting = [_parsed(command)]
    while waiting and len(commands) < MAX_WITHIN:
        node = waiting.pop()
        if node.type == "command":
            words = (_node_text(child) for child in node.children if child.type in WORDS | {"command_name"})
            commands.append(tuple(word.translate(QUOTING) for word in words))
        waiting.extend(reversed(node.children))
    return tuple(commands)


def quotes_around(command: str, start: int, end: int) -> str | None:
    """The quotes around a part of a command: `'`, `"`, or an empty string if there are none.

    None if it is not part of a word, or the shell parses it by other rules, such as a here-document.
    """
    root = _parsed(command)
    node = root.descendant_for_byte_range(start, end)
    quotes = None if node is None or root.has_error else QUOTES_OF.get(node.type)
    above = node
    while quotes is not None and above is not None:
        if above.type in READ_TWICE or (above.type == "command_substitution" and _node_text(above).startswith("`")):
            return None
        above = above.parent
    return quotes


def in_ascii(text: str) -> str:
    """Replace every non-ASCII character by x: for some, the grammar's scanner reads past its tables and crashes."""
    return NOT_ASCII.sub("x", text)


def _parsed(command: str) -> Node:
    return PARSER.parse(in_ascii(command).encode("ascii")).root_node


def _redirects_a_chain(node: Node) -> bool:
    return node.type == "redirected_statement" and node.children[0].type in CONTAINERS


def _combined(one: Skeleton, other: Skeleton) -> Skeleton:
    if NOT_PLAIN in (one, other):
        return NOT_PLAIN
    return Skeleton(words=one.words + other.words, redirects=one.redirects + other.redirects)


def _skeleton(parts: list[Node]) -> Skeleton:
    words: list[str] = []
    redirects: list[tuple[str, str]] = []
    for part in parts:
        redirect = _redirect(part) if part.type == "file_redirect" else None
        if part.type in WORDS and _is_plain_text(part):
            words.append(_node_text(part))
        elif redirect is not None:
            redirects.append(redirect)
        elif part.type != "file_redirect" or not _is_duplicate(part):
            return NOT_PLAIN
    return Skeleton(words=tuple(words), redirects=tuple(redirects))


def _parts(node: Node) -> Iterator[Node]:
    """The words and redirections of a command, which the grammar nests up to three levels deep."""
    for child in node.children:
        if child.type in {"command", "command_name"}:
            yield from _parts(child)
        else:
            yield child


def _redirect(node: Node) -> tuple[str, str] | None:
    pieces = [child for child in node.children if child.type != "file_descriptor"]
    if (
        len(pieces) != 2
        or pieces[0].type not in REDIRECTIONS
        or pieces[1].type not in WORDS
        or not _is_plain_text(pieces[1])
    ):
        return None
    return pieces[0].type, _node_text(pieces[1])


def _is_duplicate(node: Node) -> bool:
    """`2>&1`, which opens no file."""
    pieces = [child for child in node.children if child.type != "file_descriptor"]
    return len(pieces) == 2 and pieces[0].type == ">&" and pieces[1].type == "number"


def _is_plain_text(word: Node) -> bool:
    """Whether the word consists of nothing but text, according to the grammar."""
    return all(child.type in INSIDE_WORDS and _is_plain_text(child) for child in word.children)


def _node_text(node: Node) -> str:
    return (node.text or b"").decode("ascii")
