"""The table of states and keys in docs/terminal.md: every cell is what the terminal UI does."""

from pathlib import Path

import pytest

from tests.clients.tui.key_stage import KEYS, SCENES, effect

PAGE = Path(__file__).parents[3] / "docs" / "terminal.md"
HEADING = "## What each key does in each state"


def table() -> dict[tuple[str, str], str]:
    """The cells of the table by state and key."""
    lines = PAGE.read_text().split(HEADING)[1].split("\n## ")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    head, _, *body = rows
    return {(state, key): cell for state, *cells in body for key, cell in zip(head[1:], cells, strict=True)}


def test_the_table_has_every_state_and_every_key() -> None:
    assert list(table()) == [(state, key) for state in SCENES for key in KEYS]


@pytest.mark.parametrize(("state", "key"), [(state, key) for state in SCENES for key in KEYS])
def test_the_key_does_what_the_table_says(state: str, key: str) -> None:
    done = [effect(scene, key) for scene in SCENES[state]]
    assert done == [table()[state, key]] * len(done)
