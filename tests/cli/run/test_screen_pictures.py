"""Whole screens as they were looked at and found good. `UPDATE_SCREENS=1` writes them anew: look at the difference."""

import os
from pathlib import Path

import pytest

from tests.cli.scripts import call, script
from tests.harness.cli import Robota
from tests.harness.screen import ScreenTerminal

PICTURES = Path(__file__).with_name("screens")
ANSWER = """\
The sign is **wrong**, so `add` takes away:

1. read the file
2. change the sign

| before | after |
|---|---|
| 1 | 3 |
"""
EDIT = call("edit_file", path="calc.py", old_string="a - b", new_string="a + b")


def prepare(robota: Robota) -> None:
    (robota.workspace / "calc.py").write_text("def add(a, b):\n    return a - b\n\n\nTOTAL = add(1, 2)  # 合計\n")
    script(robota, {"text": ANSWER, "calls": [EDIT]}, {"text": "Done."})


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (200, 60), (20, 5)])
def test_a_question_looks_as_it_did(robota: Robota, columns: int, rows: int) -> None:
    prepare(robota)
    with ScreenTerminal(robota, "--name", "sums", columns=columns, rows=rows) as terminal:
        terminal.sees("Idle")
        terminal.press("fix it\r")
        terminal.sees("w answer in words" if rows > 5 else "  y a r n e w")
        shown = terminal.rows
    begin = shown.index("> fix it") if "> fix it" in shown else 0
    compare(f"question-{columns}x{rows}.txt", "\n".join(shown[begin:]).rstrip() + "\n")


@pytest.mark.parametrize(
    ("env", "added", "marker"),
    [
        ({}, "green", "cyan"),
        ({"ROBOTA_THEME": "light"}, "green", "blue"),
        ({"NO_COLOR": "1"}, "default", "default"),
    ],
)
def test_colours_are_those_of_the_theme(robota: Robota, env: dict[str, str], added: str, marker: str) -> None:
    prepare(robota)
    with ScreenTerminal(robota, env=env) as terminal:
        terminal.sees("Idle")
        terminal.press("fix it\r")
        rows = terminal.sees("y yes")
        change = next(place for place, row in enumerate(rows) if "+     return" in row)
        card = next(place for place, row in enumerate(rows) if row == "  y yes")
        assert terminal.colour(change, rows[change].index("return")) == added
        assert terminal.colour(card, 2) == marker


def compare(name: str, shown: str) -> None:
    path = PICTURES / name
    if os.environ.get("UPDATE_SCREENS"):
        path.write_text(shown, encoding="utf-8")
    assert shown == path.read_text(encoding="utf-8")
