"""The page that lists attacks and faults names tests that exist, and forgets no file of hostile tests."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")
PAGE = (ROOT / "docs" / "attacks.md").read_text(encoding="utf-8")


def names_of_tests(file: Path) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {function.name for function in functions if function.name.startswith("test_")}


def test_every_test_that_the_page_names_exists() -> None:
    named = {(file, test) for file, test in NAMED.findall(PAGE)}
    tests = {file: names_of_tests(ROOT / file) if (ROOT / file).is_file() else set() for file, _ in named}
    assert len(named) > 150
    assert [each for each in sorted(named) if not (each[1] in tests[each[0]] if each[1] else tests[each[0]])] == []


def test_every_row_names_a_test() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| tried ")]
    assert rows and [row for row in rows if not NAMED.search(row)] == []


def test_every_file_of_hostile_tests_is_on_the_page() -> None:
    files = {str(file.relative_to(ROOT)) for file in (ROOT / "tests" / "hostile").rglob("test_*.py")}
    assert files - {file for file, _ in NAMED.findall(PAGE)} == set()
