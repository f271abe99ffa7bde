"""Hash the syntax tree of a text without comments, layout and the names that it declares itself.

Part of the program that `syntax_worker` runs; no other module may import it.
"""

import ast
from collections.abc import Iterator
from hashlib import sha256
from typing import Final

from tree_sitter import Node

DECLARING: Final = ("declarat", "definition", "parameter", "_item", "pattern", "binding")
OWN_FIELDS: Final = ("name", "pattern", "left")
MAX_NODES: Final = 400_000


def shape_of_tree(root: Node, text: str) -> str | None:
    """The shape: equal for texts that differ only in comments, layout and names that they declare. None if too large.

    In the parsed text, every character must be one byte.
    """
    leaves = list(_leaves(root))
    if len(leaves) > MAX_NODES:
        return None
    own = {text[node.start_byte : node.end_byte] for node, _ in leaves if _is_declared(node)}
    renamed: dict[str, int] = {}
    digest = sha256()
    for node, depth in leaves:
        word = text[node.start_byte : node.end_byte]
        if node.type == "identifier" and word in own:
            word = f"\0{renamed.setdefault(word, len(renamed))}"
        digest.update(f"{depth}\1{node.type}\1{word}\2".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def shape_of_python(text: str) -> str | None:
    """The shape of Python code, by Python's own parser. None if it is not valid in this version."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    own = set(_bound_names(tree))
    renamed: dict[str, int] = {}
    for node in ast.walk(tree):
        _leave_out_docstring(node)
    for node in _in_order(tree):
        for field in ("id", "name", "arg", "asname"):
            word = getattr(node, field, None)
            if isinstance(word, str) and word in own and not isinstance(node, ast.keyword):
                setattr(node, field, f"\0{renamed.setdefault(word, len(renamed))}")
    try:
        return sha256(ast.dump(tree).encode("utf-8", "surrogatepass")).hexdigest()
    except RecursionError:
        return None


def _leaves(root: Node) -> Iterator[tuple[Node, int]]:
    """The tokens in order, each with its depth, without comments."""
    stack = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        if "comment" in node.type:
            continue
        # A string may contain whitespace that is not part of any token.
        if not node.children or "string" in node.type:
            yield node, depth
        else:
            stack += [(child, depth + 1) for child in reversed(node.children)]


def _is_declared(node: Node) -> bool:
    parent = node.parent
    if node.type != "identifier" or parent is None:
        return False
    if "parameter" in parent.type:
        return True
    return any(word in parent.type for word in DECLARING) and any(
        parent.child_by_field_name(field) == node for field in OWN_FIELDS
    )


def _bound_names(tree: ast.AST) -> Iterator[str]:
    """The names that the text declares: functions, classes, parameters and variables. Only these may be renamed."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.alias(asname=str(name)):
                yield name
            case ast.ExceptHandler(name=str(name)):
                yield name
            case _:
                pass


def _leave_out_docstring(node: ast.AST) -> None:
    match node:
        case (
            ast.Module(body=body)
            | ast.FunctionDef(body=body)
            | ast.AsyncFunctionDef(body=body)
            | ast.ClassDef(body=body)
        ):
            if _is_text(body):
                body[:1] = [] if len(body) > 1 else [ast.Pass()]
        case _:
            pass


def _is_text(body: list[ast.stmt]) -> bool:
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *_]:
            return True
        case _:
            return False


def _in_order(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes in source order."""
    stack = [tree]
    while stack:
        node = stack.pop()
        yield node
        stack += reversed(list(ast.iter_child_nodes(node)))
