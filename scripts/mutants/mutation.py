"""The small changes to a module that should make a test fail: a swapped comparison, a dropped condition, …"""

import ast
from collections.abc import Iterator
from typing import Final

import msgspec

SWAPPED_COMPARISONS: Final[dict[type[ast.cmpop], str]] = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}


# Options of a class that only make its values smaller, or are enforced by mypy.
SILENT_CLASS_OPTIONS: Final = frozenset({"frozen", "gc", "kw_only"})


class Mutation(msgspec.Struct, frozen=True, kw_only=True):
    """Replace the bytes from `start` to `end` of a source file, where `before` stands, by `after`."""

    line: int
    start: int
    end: int
    before: str
    after: str

    def applied_to(self, source: bytes) -> bytes:
        """The changed source."""
        return source[: self.start] + self.after.encode() + source[self.end :]

    @property
    def text(self) -> str:
        """The change in one line."""
        return f"{' '.join(self.before.split())}  ->  {' '.join(self.after.split())}"


def mutations_of(source: bytes) -> list[Mutation]:
    """Every mutation of a module, in the order of its lines; annotations and docstrings are left alone."""
    finder = _Finder(source)
    finder.visit(ast.parse(source))
    return sorted(finder.found, key=lambda mutation: (mutation.start, mutation.end, mutation.after))


class _Finder(ast.NodeVisitor):
    def __init__(self, source: bytes) -> None:
        self._source = source
        self._line_starts = [0]
        for line in source.splitlines(keepends=True):
            self._line_starts.append(self._line_starts[-1] + len(line))
        self.found: list[Mutation] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Visit defaults and body; annotations have no effect when the program runs."""
        for part in (*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body):
            self.visit(part)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        """Like any other function."""
        for part in (*node.args.defaults, *filter(None, node.args.kw_defaults), *node.body):
            self.visit(part)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Visit only the value."""
        if node.value is not None:
            self.visit(node.value)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Visit the body, and the options that change what a class does."""
        for part in (*node.keywords, *node.body):
            if not isinstance(part, ast.keyword) or part.arg not in SILENT_CLASS_OPTIONS:
                self.visit(part)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Leave sizes like `64 * 1024` alone: they are round numbers, and a little more is as good."""
        if not _is_size(node):
            self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        """Swap the operator of a comparison."""
        if len(node.ops) == 1:
            left, right = self._text(node.left), self._text(node.comparators[0])
            self._replace(node, f"{left} {SWAPPED_COMPARISONS[type(node.ops[0])]} {right}")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """Drop one operand of `and` or `or`."""
        word = " and " if isinstance(node.op, ast.And) else " or "
        for dropped in node.values:
            kept = [self._text(value) for value in node.values if value is not dropped]
            self._replace(node, f"({word.join(kept)})")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """Drop a `not`."""
        if isinstance(node.op, ast.Not):
            self._replace(node, f"({self._text(node.operand)})")
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        """Never take a branch."""
        if not _is_name(node.test, "TYPE_CHECKING"):
            self._replace(node.test, "False")
            self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        """Always take one side of a conditional expression."""
        self._replace(node, f"({self._text(node.body)})")
        self._replace(node, f"({self._text(node.orelse)})")
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        """Keep what a comprehension leaves out."""
        for condition in node.ifs:
            self._replace(condition, "True")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        """Drop a statement that is only a call; docstrings are no calls, and `assert_never` never runs."""
        called = node.value.value if isinstance(node.value, ast.Await) else node.value
        if isinstance(called, ast.Call) and not _is_name(called.func, "assert_never"):
            self._replace(node, "pass")
            self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Drop an error."""
        self._replace(node, "pass")

    def visit_Constant(self, node: ast.Constant) -> None:
        """Turn a truth value around, and a number into the next one."""
        if isinstance(node.value, bool):
            self._replace(node, str(not node.value))
        elif isinstance(node.value, int):
            self._replace(node, str(node.value + 1))

    def _replace(self, node: ast.expr | ast.stmt, after: str) -> None:
        start, end = self._span(node)
        before = self._source[start:end].decode()
        if before != after:
            self.found.append(Mutation(line=node.lineno, start=start, end=end, before=before, after=after))

    def _text(self, node: ast.expr) -> str:
        start, end = self._span(node)
        return self._source[start:end].decode()

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return self._line_starts[node.lineno - 1] + node.col_offset, self._line_starts[end_line - 1] + end_column


def _is_size(node: ast.expr) -> bool:
    """A number, or a product or power of nothing but numbers."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Pow | ast.LShift):
        return _is_size(node.left) and _is_size(node.right)
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def parses(source: bytes) -> bool:
    """Whether it is still Python: a replaced part of an f-string, for example, may not be."""
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


def usable_mutations(source: bytes) -> Iterator[Mutation]:
    """The mutations that give another valid module."""
    was = ast.dump(ast.parse(source))
    for mutation in mutations_of(source):
        changed = mutation.applied_to(source)
        if parses(changed) and ast.dump(ast.parse(changed)) != was:
            yield mutation
