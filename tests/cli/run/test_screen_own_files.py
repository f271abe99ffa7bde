"""Own themes and key bindings of a user, in files, at a terminal."""

import json
from pathlib import Path

from tests.cli.scripts import script
from tests.harness.cli import Robota
from tests.harness.screen import ScreenTerminal


def own_file(robota: Robota, name: str, content: object) -> Path:
    path = robota.home / ".robota" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_a_theme_in_a_file_is_listed_taken_and_used_at_the_next_start(robota: Robota) -> None:
    script(robota, {"text": "Never said."})
    own_file(robota, "themes/sea.json", {"base": "dark", "description": "deep blue", "colours": {"active": "#0000ee"}})
    own_file(robota, "themes/broken.json", {"colours": {"sky": "red"}})
    true_colours = {"COLORTERM": "truecolor"}
    with ScreenTerminal(robota, env=true_colours, columns=120) as terminal:
        terminal.sees("Idle")
        assert terminal.colour(0, 0) != "0000ee"
        terminal.press("/theme\r")
        rows = terminal.sees("broken")
        assert any("sea" in row and "deep blue" in row for row in rows)
        assert any("broken" in row and "cannot be used" in row and "“sky”" in row for row in rows)
        terminal.press("\x1b")
        terminal.sees_no_more("Enter select")
        terminal.press("/theme broken\r")
        terminal.sees("The theme broken cannot be used")
        terminal.press("/theme sea\r")
        terminal.sees("theme: sea")
    with ScreenTerminal(robota, env=true_colours) as terminal:
        terminal.sees("Idle")
        assert terminal.colour(0, 0) == "0000ee"


def test_a_theme_that_is_gone_is_named_at_the_start(robota: Robota) -> None:
    script(robota, {"text": "Said."})
    path = robota.home / ".robota" / "settings.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "theme": "sea"}))
    with ScreenTerminal(robota, columns=200) as terminal:
        terminal.sees("There is no theme 'sea'")
        terminal.press("go\r")
        terminal.sees("Said.")


def test_own_keys_work_are_shown_and_what_is_wrong_is_named(robota: Robota) -> None:
    script(robota, {"text": "Said."})
    keys = {"enter": "newLine", "alt+enter": "send", "ctrl+t": "transcript", "ctrl+c": "send"}
    own_file(robota, "keybindings.json", keys)
    with ScreenTerminal(robota, columns=240, rows=40) as terminal:
        terminal.sees("keybindings.json: “ctrl+c”: this key has a meaning that cannot be changed")
        terminal.press("one\rtwo")
        terminal.sees("  two")
        terminal.press("\x1b\r")
        terminal.sees("Said.")
        terminal.press("\x14")
        terminal.sees("q close")
        terminal.press("q")
        terminal.sees_no_more("q close")
        terminal.press("/keys\x1b\r")
        rows = terminal.sees("the full transcript")
        assert any("Ctrl+O, Ctrl+T" in row for row in rows)
