"""Every row of the safety matrix that is promised has a test that carries its id in its name or docstring."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent
ID = re.compile(r"(?<![A-Za-z0-9])([CIPTN]\d\d)(?![A-Za-z0-9])", re.IGNORECASE)
OF_A_FILE = re.compile(rf"{ID.pattern}(?:, {ID.pattern})*: ")
ROWS = [
    *(f"C{number:02}" for number in range(1, 39)),
    *("P09", "P10", "P11", "P12", "P13", "P17", "P18", "T03", "T05"),
    *(f"T{number:02}" for number in range(7, 17)),
    *(f"I{number:02}" for number in range(1, 32)),
    *("N01", "N02", "N03", "N04", "N10", "N11", "N12"),
]


def described_tests(file: Path) -> Iterator[str]:
    """The name and docstring of every test in a file, and the docstring of the file if it begins with ids."""
    module = ast.parse(file.read_text(encoding="utf-8"))
    if found := OF_A_FILE.match(ast.get_docstring(module) or ""):
        yield found[0]
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield f"{node.name.replace('_', ' ')} {ast.get_docstring(node) or ''}"


@pytest.fixture(scope="module")
def covered() -> frozenset[str]:
    texts = (text for file in TESTS.rglob("test_*.py") for text in described_tests(file))
    return frozenset(row.upper() for text in texts for row in ID.findall(text))


@pytest.mark.parametrize("row", ROWS)
def test_a_row_of_the_matrix_has_a_test(row: str, covered: frozenset[str]) -> None:
    assert row in covered, f"no test carries {row} in its name or docstring"


def test_an_id_is_found_only_as_a_word_of_its_own() -> None:
    assert ID.findall("test C01 c02, T16: x P100 UTC01 c01x i31") == ["C01", "c02", "T16", "i31"]
