"""Whole screens as they were looked at and found good. `UPDATE_SCREENS=1` writes them anew: look at the difference.

Under each row that has colours stands what they are: a letter for the colour, a capital if it is bold, `#` if it is
reversed, `~` if only its background has one.
"""

import os
import re
from pathlib import Path

import pytest

from tests.cli.scripts import call, script
from tests.harness.cli import Robota
from tests.harness.screen import ScreenTerminal

DURATION = re.compile(r"^■ (\w+) .*  \d+\.\d s$")
PICTURES = Path(__file__).with_name("screens")
ANSWER = """\
The sign is **wrong**, so `add` takes away:

1. read the file
2. change the sign

| before | after | 備考 |
|---|---|---|
| 1 | 3 | 合計 |

```python
def add(a, b):
    return a + b  # sum
```
"""
EDIT = call("edit_file", path="calc.py", old_string="a - b", new_string="a + b")
PLAN = call("update_todo_list", todos="[x] Look at the file\n[-] Change the sign\n[ ] Run it")
RUN = call("execute_command", command="cat calc.py")
TITLES = {"Todo": "Todo list", "Edit": "Edit calc.py", "Bash": "Bash cat calc.py"}
LOOKS = {
    "dark": {},
    "16-colours": {"TERM": "xterm"},
    "light": {"ROBOTA_THEME": "light"},
    "no-colours": {"NO_COLOR": "1"},
}
SIZES = [(80, 24), (200, 60), (20, 5)]


def prepare(robota: Robota) -> None:
    (robota.workspace / "calc.py").write_text("def add(a, b):\n    return a - b\n\n\nTOTAL = add(1, 2)  # 合計\n")
    told = {"input": 1200, "output": 40}
    script(
        robota,
        {"reasoning": "The file is short.\nThe sign is odd.", "calls": [PLAN], "usage": told},
        {"text": ANSWER, "calls": [EDIT], "usage": told},
        {"calls": [RUN], "usage": told},
        {"text": "Done.", "usage": told},
    )


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize(("columns", "rows"), SIZES, ids=lambda size: str(size))
def test_a_task_looks_as_it_did(robota: Robota, columns: int, rows: int, look: str) -> None:
    prepare(robota)
    with ScreenTerminal(robota, "--name", "sums", columns=columns, rows=rows, env=LOOKS[look]) as terminal:
        terminal.sees("Idle")
        terminal.press("fix it\r")
        terminal.sees("w reply with a message" if rows > 5 else "  y a n r e w")
        asked = terminal.picture()
        terminal.press("y")
        terminal.wait_until(lambda: settled(terminal))
        ended = terminal.picture()
    shown = f"{without_greeting(asked)}\n{'=' * columns}\n{without_greeting(ended)}\n"
    compare(f"{columns}x{rows}-{look}.txt", without_durations(shown))


def test_the_terminal_is_asked_for_its_background_and_its_answer_is_no_key(robota: Robota) -> None:
    prepare(robota)
    with ScreenTerminal(robota, env={"TERM": "xterm"}) as terminal:
        terminal.wait_for("\x1b]11;?")
        terminal.press("\x1b]11;rgb:ffff/")
        terminal.press("ffff/ffff\x1b\\\x1b[Ifix it\r")
        rows = terminal.sees("w reply with a message")
        card = next(place for place, row in enumerate(rows) if "y yes" in row)
        assert terminal.colour(card, rows[card].index("y yes")) == "blue"
        assert "> fix it" in terminal.scrolled


def settled(terminal: ScreenTerminal) -> bool:
    """Whether the last row that is drawn is the status bar of a task that has ended."""
    shown = [row for row in terminal.rows if row]
    return "tokens in" in "".join(terminal.scrolled) and shown[-1].startswith("Idle")


def without_greeting(picture: str) -> str:
    """From the prompt on: what stands above names directories of this machine."""
    return picture[picture.index("> fix it\n") :]


def without_durations(picture: str) -> str:
    """On a slow machine a call takes long enough for its duration to be shown, and its title makes room for it."""
    found = picture.split("\n")
    for place, line in enumerate(found):
        if (slow := DURATION.match(line)) is not None:
            colours = found[place + 1]
            found[place] = f"■ {TITLES[slow[1]]}"
            found[place + 1] = f"{colours[:2]}{colours[2] * len(TITLES[slow[1]])}"
    return "\n".join(found)


def compare(name: str, shown: str) -> None:
    path = PICTURES / name
    if os.environ.get("UPDATE_SCREENS"):
        path.write_text(shown, encoding="utf-8")
    assert shown == path.read_text(encoding="utf-8")
