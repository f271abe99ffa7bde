"""Code as HTML: spans with a class for each kind of token."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final

from pygments.lexer import Lexer
from pygments.lexers import find_lexer_class_by_name, get_all_lexers, get_lexer_by_name
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType
from pygments.util import ClassNotFound

from robota.clients.web.safe_html import escaped

# The most specific kind counts. What is missing looks like other text.
CLASSES: Final[Mapping[_TokenType, str]] = {
    Comment: "k-comment",
    Keyword: "k-keyword",
    Keyword.Type: "k-type",
    Keyword.Constant: "k-number",
    Operator.Word: "k-keyword",
    String: "k-string",
    Number: "k-number",
    Name.Function: "k-function",
    Name.Class: "k-type",
    Name.Builtin: "k-type",
    Name.Decorator: "k-function",
    Name.Exception: "k-type",
    Name.Tag: "k-keyword",
    Name.Attribute: "k-function",
}
# Where several languages claim a suffix, the one that is meant nearly always.
USUAL: Final = {"*.pl": "perl", "*.sql": "sql", "*.m": "objective-c", "*.r": "r", "*.v": "verilog"}
# Longer texts are not worth the time: about 1 ms for every 1,000 characters.
MAX_LENGTH: Final = 30_000
MAX_LINE_LENGTH: Final = 2_000


def code_block_html(code: str, language: str) -> str:
    """The inside of a code block in a language that an author named."""
    return "\n".join(_lines(code.split("\n"), _lexer_named(language)))


def file_lines_html(lines: Sequence[str], path: str) -> list[str]:
    """The lines of a part of a file, each as HTML."""
    return _lines(lines, _lexer_of(path))


def _lines(lines: Sequence[str], lexer: Lexer | None) -> list[str]:
    is_long = sum(map(len, lines)) > MAX_LENGTH or any(len(line) > MAX_LINE_LENGTH for line in lines)
    if lexer is None or is_long:
        return [escaped(line) for line in lines]
    told: list[list[tuple[str, str]]] = [[]]
    for kind, text in lexer.get_tokens("\n".join(lines)):
        first, *others = text.split("\n")
        told[-1].append((first, _class_of(kind)))
        told += [[(other, _class_of(kind))] for other in others]
    # A lexer that drops or adds a character must not change what is read.
    return [
        "".join(_spans(pieces)) if "".join(text for text, _ in pieces) == line else escaped(line)
        for pieces, line in zip([*told, *[[]] * len(lines)], lines, strict=False)
    ]


def _spans(pieces: Sequence[tuple[str, str]]) -> Iterator[str]:
    for text, name in pieces:
        if text:
            yield f'<span class="{name}">{escaped(text)}</span>' if name else escaped(text)


@cache
def _class_of(token: _TokenType) -> str:
    kind: _TokenType | None = token
    while kind is not None:
        if kind in CLASSES:
            return CLASSES[kind]
        kind = kind.parent
    return ""


@cache
def _lexer_named(language: str) -> Lexer | None:
    try:
        return find_lexer_class_by_name(language)(stripnl=False, ensurenl=False) if language else None
    except ClassNotFound:
        return None


@cache
def _lexer_of(path: str) -> Lexer | None:
    name = path.rpartition("/")[2]
    suffix = f"*.{name.rpartition('.')[2]}" if "." in name else name
    alias = _aliases().get(name) or _aliases().get(suffix)
    return None if alias is None else get_lexer_by_name(alias, stripnl=False, ensurenl=False)


@cache
def _aliases() -> dict[str, str]:
    """The language of each pattern of file names."""
    by_alias = dict(USUAL)
    for _, aliases, patterns, _ in get_all_lexers(plugins=False):
        for pattern in patterns if aliases else ():
            by_alias.setdefault(pattern, aliases[0])
    return by_alias
