"""Finding the configured checks of a project, whatever its files contain."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.knowledge.mentions.sources import project_checks

KNOWN = {"ruff check .", "mypy .", "pyright", "cargo check", "go vet ./...", "npm run --silent lint"}
NAMES = st.sampled_from(["pyproject.toml", "package.json", "Cargo.toml", "go.mod", "other"])


def checks(**files: str) -> list[str]:
    return list(project_checks({name.replace("_", "."): text for name, text in files.items()}.get))


def test_each_configuration_file_adds_its_check() -> None:
    package = json.dumps({"scripts": {"lint": "eslint .", "test": "vitest", "start": "node ."}})
    found = checks(pyproject_toml="[tool.ruff]\n[tool.mypy]\n", package_json=package, go_mod="module x\n")
    assert found == ["ruff check .", "mypy .", "npm run --silent lint", "go vet ./..."]


@given(st.dictionaries(NAMES, st.text(max_size=60) | st.sampled_from(["[tool.ruff]", '{"scripts": {"lint": "x"}}'])))
def test_no_file_content_raises_or_injects_a_command(files: dict[str, str]) -> None:
    assert set(project_checks(files.get)) <= KNOWN


@pytest.mark.parametrize("bomb", ["[" * 9_000, '{"scripts": ' * 9_000, '{"x": ' + "[" * 9_000])
def test_a_deeply_nested_file_names_no_script(bomb: str) -> None:
    assert checks(package_json=bomb) == []
