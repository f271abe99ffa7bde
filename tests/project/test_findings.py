"""Everything that was found by trying the product has a test that carries its id, or an answer that does.

The ids: S for what ran, wrote or read what nobody allowed, U for what was wrong in front of a person, R for faults and
load. Tests for rows of the safety matrix that have such an id say so: "R16 of the matrix".
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
ID = re.compile(r"(?<![A-Za-z0-9])([SUR][1-9]\d?)(?![A-Za-z0-9])")
# Only what begins a docstring counts as its ids.
OF_A_TEST = re.compile(rf"{ID.pattern}(?:, {ID.pattern})*(?:[:.]|$)")
ROWS = [
    *(f"S{number}" for number in range(1, 19)),
    *(f"U{number}" for number in range(1, 23)),
    *(f"R{number}" for number in range(1, 17)),
]


def ids_of(docstring: str | None) -> Iterator[str]:
    """The ids that a docstring begins with."""
    found = OF_A_TEST.match(docstring or "")
    if found is not None:
        yield from ID.findall(found[0])


def ids_in(file: Path) -> Iterator[str]:
    """The ids of the tests in a file, or of the file itself."""
    module = ast.parse(file.read_text(encoding="utf-8"))
    yield from ids_of(ast.get_docstring(module))
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield from ids_of(ast.get_docstring(node))


@pytest.fixture(scope="module")
def covered() -> frozenset[str]:
    tested = {row for file in (ROOT / "tests").rglob("test_*.py") for row in ids_in(file)}
    answered = set(ID.findall((ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")))
    return frozenset(tested | answered)


@pytest.mark.parametrize("row", ROWS)
def test_what_was_found_has_a_test_or_an_answer(row: str, covered: frozenset[str]) -> None:
    assert row in covered, f"no test's docstring begins with {row}, and docs/decisions.md does not answer it"


def test_only_the_beginning_of_a_docstring_names_ids() -> None:
    assert list(ids_of("S8, U5: a hidden file looks empty.")) == ["S8", "U5"]
    assert list(ids_of("U3.")) == ["U3"]
    assert list(ids_of("R04: a row of the matrix")) == list(ids_of("See S3: no")) == list(ids_of(None)) == []
