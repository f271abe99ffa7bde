"""The colours of code: which part of a line is a keyword, a string, a comment …, with pygments."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final

from pygments.lexer import Lexer
from pygments.lexers import get_all_lexers, get_lexer_by_name
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType

from robota.clients.tui.theme import Piece, Role

# The most specific kind counts. Kinds that are not listed look like plain text.
TOKEN_ROLES: Final[Mapping[_TokenType, Role]] = {
    Comment: Role.COMMENT,
    Keyword: Role.KEYWORD,
    Keyword.Type: Role.TYPE,
    Keyword.Constant: Role.NUMBER,
    Operator.Word: Role.KEYWORD,
    String: Role.STRING,
    Number: Role.NUMBER,
    Name.Function: Role.FUNCTION,
    Name.Class: Role.TYPE,
    Name.Builtin: Role.TYPE,
    Name.Decorator: Role.FUNCTION,
    Name.Exception: Role.TYPE,
    Name.Tag: Role.KEYWORD,
    Name.Attribute: Role.FUNCTION,
}
# For suffixes that several languages claim: the most common one.
USUAL: Final = {"*.pl": "perl", "*.sql": "sql", "*.m": "objective-c", "*.r": "r", "*.R": "r", "*.v": "verilog"}
# Longer texts are not worth the time: about 1 ms for every 1,000 characters.
MAX_LENGTH: Final = 50_000
MAX_LINE_LENGTH: Final = 2_000


def coloured_lines(lines: Sequence[str], path: str) -> list[tuple[Piece, ...]]:
    """The lines of a part of a file in pieces; in one piece each if the language is unknown."""
    lexer = _lexer(path)
    is_long = sum(map(len, lines)) > MAX_LENGTH or any(len(line) > MAX_LINE_LENGTH for line in lines)
    if lexer is None or is_long:
        return [((line, Role.PLAIN),) for line in lines]
    coloured: list[list[Piece]] = [[]]
    for text, role in _pieces(lexer, "\n".join(lines)):
        first, *others = text.split("\n")
        coloured[-1].append((first, role))
        coloured += [[(other, role)] for other in others]
    told = [tuple(piece for piece in pieces if piece[0]) for pieces in coloured]
    # A lexer that drops or adds a character must not change what is approved.
    return [
        pieces if "".join(text for text, _ in pieces) == line else ((line, Role.PLAIN),)
        for pieces, line in zip([*told, *[()] * len(lines)], lines, strict=False)
    ]


def role_of(token: _TokenType) -> Role:
    """The role of a token: its own, or that of the nearest kind that it belongs to."""
    kind: _TokenType | None = token
    while kind is not None:
        if kind in TOKEN_ROLES:
            return TOKEN_ROLES[kind]
        kind = kind.parent
    return Role.PLAIN


def _pieces(lexer: Lexer, text: str) -> Iterator[Piece]:
    for token, part in lexer.get_tokens(text):
        yield part, role_of(token)


@cache
def _lexer(path: str) -> Lexer | None:
    """The lexer for a file by its name. The first of several is taken: reading them all would take longer."""
    name = path.rpartition("/")[2]
    suffix = f"*.{name.rpartition('.')[2]}" if "." in name else name
    alias = _aliases().get(name) or _aliases().get(suffix)
    return None if alias is None else get_lexer_by_name(alias, stripnl=False, ensurenl=False)


@cache
def _aliases() -> dict[str, str]:
    """The language of each pattern of file names."""
    by_alias = dict(USUAL)
    for _, aliases, patterns, _ in get_all_lexers(plugins=False):
        if aliases:
            for pattern in patterns:
                by_alias.setdefault(pattern, aliases[0])
    return by_alias
