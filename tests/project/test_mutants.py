"""`make mutants`: which changes it tries, and which tests it runs for a module."""

from pathlib import Path

from scripts.mutants.matching_tests import matching_tests
from scripts.mutants.mutation import usable_mutations

ROOT = Path(__file__).parents[2]
MODULE = b'''"""Docs: 1 == 1."""
LIMIT: int = 3

def allowed(size: int, names: list[str], is_open: bool = True) -> list[str]:
    """Never changed: not this."""
    if size > LIMIT and is_open:
        raise ValueError("too large")
    names.sort()
    return [name for name in names if not name.startswith(".")]
'''


def test_each_kind_of_condition_value_and_statement_is_changed() -> None:
    assert {mutation.text for mutation in usable_mutations(MODULE)} == {
        "3  ->  4",
        "True  ->  False",
        "size > LIMIT and is_open  ->  False",
        "size > LIMIT and is_open  ->  (is_open)",
        "size > LIMIT and is_open  ->  (size > LIMIT)",
        "size > LIMIT  ->  size >= LIMIT",
        'raise ValueError("too large")  ->  pass',
        "names.sort()  ->  pass",
        'not name.startswith(".")  ->  True',
        'not name.startswith(".")  ->  (name.startswith("."))',
    }


def test_a_change_touches_only_its_own_place() -> None:
    changed = {mutation.text: mutation.applied_to(MODULE) for mutation in usable_mutations(MODULE)}
    assert changed["names.sort()  ->  pass"] == MODULE.replace(b"names.sort()", b"pass")
    assert changed["3  ->  4"] == MODULE.replace(b"= 3", b"= 4")


def test_sizes_and_options_that_nobody_notices_are_left_alone() -> None:
    module = (
        b"MAX_BYTES = 64 * 1024\nclass Span(Struct, frozen=True, gc=False, array_like=True):\n    end: int\n"
        b"match span:\n    case unknown:\n        assert_never(unknown)\n"
    )
    (mutation,) = usable_mutations(module)
    assert mutation.applied_to(module) == module.replace(b"array_like=True", b"array_like=False")


def test_the_tests_of_a_module_are_those_that_import_it_and_those_of_its_package() -> None:
    near, wide = matching_tests(ROOT / "src/robota/workspace/sandbox/placeholders.py", ROOT)
    assert near[0] == "tests/workspace/sandbox/test_placeholders.py"
    assert "tests/workspace/sandbox" in wide
