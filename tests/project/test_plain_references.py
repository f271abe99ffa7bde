"""Nothing refers to entries of a list that a reader cannot look up: tests and pages say in words what they mean."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = sorted(file for top in ("src", "tests", "benchmarks", "evals", "scripts") for file in (ROOT / top).rglob("*.py"))
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
IN_A_NAME = re.compile(r"^test_[a-z]{1,2}\d{1,3}_|_[a-z]\d\d(_|$)", re.IGNORECASE)
IN_A_DOCSTRING = re.compile(
    r"^(Matrix |Rows? )?[A-Z]{1,2}\d{1,3}\b|\([A-Z]\d{1,2}(, [A-Z]\d{1,2})*\)|\bof the matrix\b|\bissues? [A-Z]\b"
)
IN_A_COMMENT = re.compile(r"# [A-Z]\d\d(, [A-Z]\d\d)*$", re.MULTILINE)
ON_A_PAGE = re.compile(r"\([A-Z]\d{1,2}(,? (and |against )?[A-Z]\d{1,2})*\)")


def references(source: str) -> Iterator[str]:
    """Names of tests, docstrings and comments that carry the id of an entry."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            name = getattr(node, "name", "")
            if name.startswith("test_") and IN_A_NAME.search(name):
                yield name
            docstring = ast.get_docstring(node) or ""
            if IN_A_DOCSTRING.search(docstring):
                yield docstring
    yield from (found[0] for found in IN_A_COMMENT.finditer(source))


def test_code_and_tests_say_what_they_mean() -> None:
    found = {file: [*references(file.read_text(encoding="utf-8"))] for file in CODE}
    assert {str(file.relative_to(ROOT)): each for file, each in found.items() if each} == {}


def test_pages_say_what_they_mean() -> None:
    found = {page.name: ON_A_PAGE.search(page.read_text(encoding="utf-8")) for page in PAGES}
    assert {name: match[0] for name, match in found.items() if match} == {}


@pytest.mark.parametrize(
    "source",
    [
        "def test_x1_a_file_is_kept(): ...",
        "def test_a_file_is_kept_x07(): ...",
        'def test_a_file_is_kept():\n    """X7: it was lost."""',
        'def test_a_file_is_kept():\n    """It was lost (X7, Y12)."""',
        'def test_a_file_is_kept():\n    """As issue X asks."""',
        'ROWS = ["ls",  # X07\n]',
    ],
)
def test_every_form_of_a_reference_is_found(source: str) -> None:
    assert [*references(source)]


def test_words_with_numbers_are_not_references() -> None:
    assert not [*references('def test_utf8_and_sha256():\n    """UTF-8 in 3 forms, lines L10 to L20, HTTP/2."""')]
