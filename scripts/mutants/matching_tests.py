"""Which tests are about a module: those that import it, then the directory of tests that mirrors its package."""

from pathlib import Path


def matching_tests(module: Path, root: Path) -> list[list[str]]:
    """Groups of test paths, the nearest first; `module` is a file below `src/robota`. Empty if nothing tests it."""
    within = module.relative_to(root / "src" / "robota")
    package = root / "tests" / within.parent
    while not package.is_dir():
        package = package.parent
    importing = _files_naming(f"robota.{'.'.join(within.with_suffix('').parts)}", root / "tests")
    # The tests named after a module notice most of its mutants, and the first failure is enough.
    named = sorted(package.glob(f"test_{within.stem}*.py"))
    near = [*named, *sorted(file for file in set(importing) - set(named) if package in file.parents)]
    others = sorted(set(importing) - set(near))
    whole = [] if package == root / "tests" else [package]
    groups = [near, [*whole, *others] or [package]]
    return [[str(path.relative_to(root)) for path in group] for group in groups if group]


def _files_naming(module: str, tests: Path) -> list[Path]:
    package, _, name = module.rpartition(".")
    forms = (f"{module} ", f"{module}\n", f"{module}.", f"from {package} import {name}")
    return [file for file in tests.rglob("test_*.py") if any(form in file.read_text() for form in forms)]
