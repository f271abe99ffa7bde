"""Runs `robota` on the scripted model in a real terminal and draws its screens into docs/pictures, dark and light."""

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from scripts.pictures.drawing import DARK, LIGHT, Colours, svg
from scripts.pictures.page import draw_page
from tests.harness.cli import Robota
from tests.harness.screen import ScreenTerminal

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
COLUMNS, ROWS = 80, 34
# pyte does not know dim letters; a terminal shows them as grey.
DIM = "\x1b[2m"
GREY = "\x1b[90m"
CODE = """\
def total(prices):
    result = 0
    for price in prices:
        result -= price
    return result
"""
ANSWER = """\
The loop **subtracts** each price, so every total is negative:

- `total` must add, in `shop.py:4`
- nothing else calls it
"""
PLAN = "[x] Read shop.py\n[-] Fix the sum\n[ ] Run it"


class GreyTerminal(ScreenTerminal):
    """A terminal whose dim letters are grey."""

    def _known(self, text: str) -> str:
        return text.replace(DIM, GREY)


def main() -> None:
    """Draw every screen in both looks."""
    PICTURES.mkdir(exist_ok=True)
    for look, colours in (("dark", DARK), ("light", LIGHT)):
        with tempfile.TemporaryDirectory(prefix="robota-pictures-") as place:
            robota = _shop(Path(place))
            for name, picture in _screens(robota, look, colours):
                (PICTURES / f"{name}-{look}.svg").write_text(picture, encoding="utf-8")
    draw_page(PICTURES)


def _shop(place: Path) -> Robota:
    """A small project, and a model that fixes it."""
    robota = Robota(place / "shop", place / "home")
    (robota.home / ".robota").mkdir(parents=True)
    robota.workspace.mkdir()
    (robota.workspace / "shop.py").write_text(CODE)
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=robota.workspace, check=True)
    turns = [
        _turn(
            "I will look at the code first.", _call("read_file", path="shop.py"), _call("update_todo_list", todos=PLAN)
        ),
        _turn(ANSWER, _call("edit_file", path="shop.py", old_string="-= price", new_string="+= price")),
        _turn("", _call("execute_command", command="python3 -B -c 'from shop import total; print(total([3, 4]))'")),
        _turn("`total` adds up now: tea and bread cost **7**."),
        _turn("You are welcome.") | {"repeat": 9},
    ]
    _play(robota, turns)
    return robota


def _play(robota: Robota, turns: list[dict[str, Any]]) -> None:
    """Let the model say this from now on."""
    options = {"turns": turns, "modelInfo": {"contextWindow": 200_000}}
    profile = {"type": "scripted", "model": "scripted", "options": options}
    settings = {"currentProvider": "script", "providers": {"script": profile}}
    (robota.home / ".robota" / "settings.json").write_text(json.dumps(settings))


def _turn(text: str, *calls: dict[str, Any]) -> dict[str, Any]:
    return {"text": text, "calls": list(calls), "usage": {"input": 4200, "output": 180}}


def _call(name: str, **arguments: str) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def _screens(robota: Robota, look: str, colours: Colours) -> Iterator[tuple[str, str]]:
    rename = {
        re.escape(str(robota.workspace)): "~/shop",
        r"20\d\d-\d\d-\d\d \d\d:\d\d": "2026-02-03 10:15",
        r"  \d+\.\d s": "",
        r"\b[0-9a-f]{8}-[0-9a-f-]{27}\b": "01a1e664-9cd6-74a7-b61f-0a13ec01e28e",
    }
    # What only shows for a moment must not decide how far a screen has scrolled.
    env = {"ROBOTA_THEME": look, "ROBOTA_REDUCED_MOTION": "1", "COLORTERM": "truecolor"}

    def drawn(terminal: ScreenTerminal, title: str) -> str:
        return svg(terminal.cells, colours, title, rename)

    with GreyTerminal(robota, "--name", "shop", columns=COLUMNS, rows=ROWS, env=env) as terminal:
        terminal.sees("Idle")
        terminal.press("/")
        terminal.sees("1 of ")
        yield "commands", drawn(terminal, "Commands that can be typed")
        terminal.press("\x7f")
        terminal.sees_no_more("1 of ")
        terminal.press("every total is negative: find out why\r")
        terminal.sees("w reply with")
        yield "approval", drawn(terminal, "An answer, the change it wants to make, and the question about it")
        terminal.press("y")
        terminal.sees("Run this command?")
        terminal.sees("w reply with")
        yield "command", drawn(terminal, "A command, and why a user is asked about it")
        terminal.press("y")
        terminal.sees("cost 7.")
        terminal.sees("tokens in")
        _settle(terminal)
        yield "answer", drawn(terminal, "A finished task with its usage")
        yield from _screens_of_their_own(terminal, drawn)
        terminal.press("\x04")
        terminal.end()
    with GreyTerminal(robota, columns=COLUMNS, rows=ROWS, env=env) as terminal:
        terminal.sees("Idle")
        yield from _lists(terminal, drawn)
        terminal.press("/resume\r")
        terminal.sees("You are welcome.")
        yield "sessions", drawn(terminal, "Sessions to go on with, and what was said in them")
    yield from _background(robota, env, drawn)


def _background(robota: Robota, env: dict[str, str], drawn: Any) -> Iterator[tuple[str, str]]:
    (robota.workspace / "shop.log").write_text("10:14 tea sold\n")
    start = partial(_call, "background_process", action="start")
    both = (start(command="tail -f shop.log"), start(command="make serve"))
    end = "The log is watched. The server did not start: nothing says how to make it."
    _play(robota, [_turn("I let both run beside our work.", *both), _turn(end)])
    mode = ("--permission-mode", "bypassPermissions")
    with GreyTerminal(robota, *mode, columns=COLUMNS, rows=ROWS, env=env) as terminal:
        terminal.sees("Idle")
        terminal.press("watch the log and start the server\r")
        terminal.sees("nothing says how")
        terminal.sees("Background x1 |")
        yield "background", drawn(terminal, "What runs and what ended in the background")


def _lists(terminal: ScreenTerminal, drawn: Any) -> Iterator[tuple[str, str]]:
    for command, name, title in (
        ("theme", "themes", "Themes, each shown while it is looked at"),
        ("provider", "providers", "Providers to go on with, and how to set up another"),
        ("permissions", "permissions", "How much is asked"),
        ("plugin", "plugins", "What is installed, and where more comes from"),
    ):
        terminal.press(f"/{command}\r")
        terminal.sees("Enter select")
        _settle(terminal)
        yield name, drawn(terminal, title)
        terminal.press("\x1b")
        terminal.sees_no_more("Enter select")
        _settle(terminal)
    terminal.press("?")
    terminal.sees("Ctrl+U")
    _settle(terminal)
    yield "keys", drawn(terminal, "Every key")
    terminal.press("\x1b")
    terminal.sees_no_more("Ctrl+U")


def _settle(terminal: ScreenTerminal) -> None:
    """Wait until the picture is drawn to its end, which is the status bar."""
    terminal.wait_until(lambda: next((row for row in reversed(terminal.rows) if row), "").startswith("Idle | Mode"))


def _screens_of_their_own(terminal: ScreenTerminal, drawn: Any) -> Iterator[tuple[str, str]]:
    terminal.press("thank you\r")
    terminal.sees("You are welcome.")
    terminal.sees("Idle")
    terminal.press("/diff\r")
    terminal.sees("q close")
    yield "diff", drawn(terminal, "Everything that the session changed")
    terminal.press("q")
    terminal.sees("Idle")
    terminal.press("\x0f")
    terminal.sees("q close")
    terminal.press("/total\r")
    terminal.sees("/total")
    yield "transcript", drawn(terminal, "Everything so far, with a search")
    terminal.press("q")
    terminal.sees("Idle")
    terminal.press("\x1b\x1b")
    terminal.sees("Rewind to before which prompt?")
    terminal.press("\x1b[B")
    terminal.sees("shop.py  +1 -1")
    yield "rewind", drawn(terminal, "Prompts to go back to, and what each of them changed")
    terminal.press("\x1b")
    terminal.sees("Idle")
    terminal.press("/context\r")
    terminal.sees("Cost so far")
    _settle(terminal)
    yield "context", drawn(terminal, "What fills the context window")
    terminal.press("\x1b")
    terminal.sees_no_more("Cost so far")


if __name__ == "__main__":
    main()
