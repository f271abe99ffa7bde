"""The page on slash commands says what the registry says."""

from pathlib import Path

from tests.commands.reference import reference

PAGE = Path(__file__).parents[2] / "docs/commands-reference.md"


def test_the_page_is_as_the_registry_makes_it(tmp_path: Path) -> None:
    assert PAGE.read_text(encoding="utf-8") == reference(tmp_path), "write it anew: make reference"
