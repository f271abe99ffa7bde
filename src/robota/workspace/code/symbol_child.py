"""Read symbols with tree-sitter: the program that `symbol_reader` runs. No other module may import it."""

import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import Final, cast

import msgspec
from tree_sitter import Node, Query, QueryCursor

from robota.workspace.code.symbol import (
    MAX_SIGNATURE,
    Answer,
    FileSymbols,
    Occurrence,
    Occurrences,
    OccurrencesRequest,
    Request,
    Symbol,
    SymbolKind,
    SymbolsRequest,
    Unreadable,
)
from robota.workspace.code.symbol_queries import NAME_NODES, QUERIES
from robota.workspace.problems import BinaryContent
from robota.workspace.process.python_child import limit_this_process
from robota.workspace.text.encoding import decode
from robota.workspace.text.grammar import grammar_of, in_ascii, parsed

# Of a file; what is beyond is data that a program wrote.
MAX_DEFINITIONS: Final = 5_000
MAX_USES: Final = 5_000
MAX_PLACES: Final = 1_000
MAX_SECONDS: Final = 2.0
MAX_NAME: Final = 200
WITHIN: Final = "within"
CONTAINERS: Final = frozenset({"class", "interface", "enum", WITHIN})
# What is defined in these is seen by nobody else.
BODIES: Final = frozenset({"function", "method"})


class DefinitionNode(msgspec.Struct, frozen=True):
    """A definition in the tree; `owner` is a name given outside of it, such as that of a receiver."""

    kind: str
    node: Node
    name: Node
    owner: Node | None


class Source:
    """A text and its tree, in which offsets count characters."""

    def __init__(self, text: str, root: Node) -> None:
        self._text = text
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self.root = root

    def text_of(self, node: Node) -> str:
        return self._text[node.start_byte : node.end_byte]

    def line(self, offset: int) -> int:
        """The line of an offset, from 1. Points of nodes are not used: beyond row 256 the library confuses them."""
        return bisect_right(self._starts, offset)

    def column(self, offset: int) -> int:
        """The column of an offset, from 1."""
        return offset - self._starts[self.line(offset) - 1] + 1

    def signature(self, node: Node) -> str:
        """The beginning of a definition, up to its body, on one line."""
        body = node.child_by_field_name("body")
        comment = next((child for child in node.children if child.type == "comment"), None)
        end = min(each.start_byte for each in (body, comment) if each) if body or comment else node.end_byte
        text = " ".join(self._text[node.start_byte : min(end, node.start_byte + 4 * MAX_SIGNATURE)].split())
        text = text.rstrip("{:=").rstrip()
        return text if len(text) <= MAX_SIGNATURE else f"{text[: MAX_SIGNATURE - 1]}…"

    def definitions(self, query: Query) -> Iterator[DefinitionNode]:
        """The definitions, in the order of the text; where several patterns match one name, the first of them."""
        first: dict[int, DefinitionNode] = {}
        for _, captures in sorted(QueryCursor(query).matches(self.root), key=itemgetter(0)):
            if "name" in captures:
                definition = _definition(captures)
                first.setdefault(definition.name.start_byte, definition)
        yield from sorted(first.values(), key=lambda each: (each.node.start_byte, -each.node.end_byte))


def symbols(source: Source, query: Query) -> FileSymbols:
    """What a file defines and uses."""
    defined = []
    for each in _nested(source, query):
        name = source.text_of(each.definition.name)
        if each.definition.kind == WITHIN or each.around in BODIES or len(name) > MAX_NAME:
            continue
        kind = "method" if each.definition.kind == "function" and each.around in CONTAINERS else each.definition.kind
        line, end = source.line(each.definition.name.start_byte), source.line(each.definition.node.end_byte)
        signature = source.signature(each.definition.node)
        defined.append(Symbol(name, each.container, cast("SymbolKind", kind), line, max(line, end), signature))
        if len(defined) == MAX_DEFINITIONS:
            break
    uses: dict[str, int] = {}
    for node in QueryCursor(query).captures(source.root).get("use", ()):
        name = source.text_of(node)
        if name in uses or (len(uses) < MAX_USES and len(name) <= MAX_NAME):
            uses[name] = uses.get(name, 0) + 1
    return FileSymbols(tuple(defined), uses)


def occurrences(source: Source, query: Query, name: str) -> Occurrences:
    """Where a name stands as a name: not in comments and texts."""
    nested = tuple(_nested(source, query))
    defined = {each.definition.name.start_byte for each in nested if each.definition.kind != WITHIN}
    places = []
    for node in _name_nodes(source.root):
        if source.text_of(node) != name:
            continue
        start = node.start_byte
        within = _name_path_around(source, nested, node)
        places.append(Occurrence(source.line(start), source.column(start), within, start in defined))
        if len(places) == MAX_PLACES:
            break
    return Occurrences(tuple(places))


def _name_path_around(source: Source, nested: Sequence["Nested"], node: Node) -> str:
    """The name path of the innermost definition around a node that is not its name."""
    around = ""
    for each in nested:
        outer, name = each.definition.node, each.definition.name
        if outer.start_byte <= node.start_byte < outer.end_byte and name.start_byte != node.start_byte:
            around = each.name_path(source)
    return around


def _definition(captures: Mapping[str, list[Node]]) -> DefinitionNode:
    name = captures["name"][0]
    kind = next((key for key in captures if key not in {"name", "owner", "use"}), "variable")
    node = captures.get(kind, [name])[0]
    # `export const x = 1` and `X = 1` define a name; what is shown of them is the statement.
    if kind in {"variable", "constant", "field"} and node is name and name.parent is not None:
        node = name.parent
    return DefinitionNode(kind, node, name, next(iter(captures.get("owner", ())), None))


class Nested(msgspec.Struct, frozen=True):
    """A definition with the name path and the kind of what is around it; both are empty at the top of a file."""

    definition: DefinitionNode
    container: str
    around: str

    def name_path(self, source: Source) -> str:
        name = source.text_of(self.definition.name)
        return f"{self.container}.{name}" if self.container else name


def _nested(source: Source, query: Query) -> Iterator[Nested]:
    open_ones: list[Nested] = []
    for definition in source.definitions(query):
        while open_ones and open_ones[-1].definition.node.end_byte <= definition.node.start_byte:
            open_ones.pop()
        if definition.owner is not None:
            nested = Nested(definition, source.text_of(definition.owner), "class")
        elif open_ones:
            nested = Nested(definition, open_ones[-1].name_path(source), open_ones[-1].definition.kind)
        else:
            nested = Nested(definition, "", "")
        yield nested
        open_ones.append(nested)


def _name_nodes(root: Node) -> Iterator[Node]:
    """All nodes that are names, in the order of the text."""
    cursor = root.walk()
    while True:
        node = cursor.node
        assert node is not None
        if not node.child_count and node.is_named and ("identifier" in node.type or node.type in NAME_NODES):
            yield node
        if cursor.goto_first_child() or cursor.goto_next_sibling():
            continue
        while cursor.goto_parent():
            if cursor.goto_next_sibling():
                break
        else:
            return


def answer(request: Request, data: bytes) -> Answer:
    """The answer to one request."""
    query, grammar = _query(request.language), grammar_of(request.language)
    try:
        text = decode(data).content.replace("\r\n", "\n").replace("\r", "\n")
    except BinaryContent:
        return Unreadable()
    root = None if grammar is None else parsed(grammar, in_ascii(text), MAX_SECONDS)
    if root is None or query is None:
        return Unreadable()
    source = Source(text, root)
    match request:
        case SymbolsRequest():
            return symbols(source, query)
        case OccurrencesRequest(name=name):
            return occurrences(source, query, name)


@cache
def _query(language: str) -> Query | None:
    grammar = grammar_of(language)
    return None if grammar is None or language not in QUERIES else Query(grammar, QUERIES[language])


def main(handle: Callable[[Request, bytes], Answer] = answer) -> None:
    """Answer requests until standard input is closed."""
    limit_this_process()
    decoder = msgspec.json.Decoder(Request)
    while line := sys.stdin.buffer.readline():
        request = decoder.decode(line)
        data = sys.stdin.buffer.read(request.size)
        sys.stdout.buffer.write(msgspec.json.encode(handle(request, data)) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
