"""The lock files: each names everything that its packages need, or `make run` could not install it."""

import re
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REQUIREMENTS = Path(__file__).parents[2] / "requirements"
PINNED = re.compile(r"^([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?==", re.MULTILINE)


@pytest.mark.parametrize("lock", ["run.txt", "dev.txt"])
def test_what_a_locked_package_needs_is_locked_too(lock: str) -> None:
    """pip refuses the whole file otherwise: with hashes nothing may be found on the way."""
    names = {canonicalize_name(name) for name in PINNED.findall((REQUIREMENTS / lock).read_text())}
    assert len(names) > 10
    missing = {f"{name} needs {needed}" for name in names for needed in _needs(name) - names}
    assert missing == set()


def _needs(name: str) -> set[str]:
    try:
        lines = requires(name) or []
    except PackageNotFoundError:  # for another system than this one
        return set()
    parsed = map(Requirement, lines)
    here = [need for need in parsed if need.marker is None or need.marker.evaluate({"extra": ""})]
    return {canonicalize_name(need.name) for need in here}
