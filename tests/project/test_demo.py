"""`make run`: the demonstration works on any machine, with nothing configured and nobody at the keyboard."""

from tests.harness.cli import Robota
from tests.harness.screen import ScreenTerminal


def test_the_demonstration_ends_well_and_says_how_to_go_on(robota: Robota) -> None:
    shown = robota("demo")
    assert shown.code == 0, shown.stderr
    assert "FAILED (failures=1)" in shown.stdout
    assert "Fixed." in shown.stdout
    _, _, taken_back = shown.stdout.partition("$ robota rewind restore 1")
    before, _, again = taken_back.partition("$ robota rewind redo")
    assert "no differences" in before and "pricing.py | 2 +-" in again
    assert "--configure-provider" in shown.stdout


def test_the_demonstration_leaves_nothing_behind(robota: Robota) -> None:
    assert robota("demo", env={"TMPDIR": str(robota.workspace)}).code == 0
    assert [path.name for path in robota.workspace.iterdir()] == [".git"]
    assert list(robota.home.iterdir()) == []


def test_what_a_first_run_keeps_at_home_is_for_its_owner_only(robota: Robota) -> None:
    assert robota("demo", "shop").code == 0
    own = robota.home / ".robota"
    kept = [path for path in (own, *own.glob("*"), *own.glob("*/*")) if path.is_dir()]
    assert len(kept) > 3 and [path for path in kept if path.stat().st_mode & 0o077] == []


def test_at_a_terminal_a_user_sits_in_front_of_it(robota: Robota) -> None:
    with ScreenTerminal(robota, "demo", columns=100, rows=30) as terminal:
        for _ in range(3):
            terminal.sees("y yes")
            terminal.press("y")
            terminal.sees_no_more("y yes")
        terminal.sees("Both tests pass.")
        terminal.press("\x04")
        assert terminal.end() == 0
    assert "--configure-provider" in terminal.screen and "--resume" not in terminal.screen


def test_a_user_may_say_no_and_type_anything(robota: Robota) -> None:
    with ScreenTerminal(robota, "demo", columns=100, rows=30) as terminal:
        terminal.sees("y yes")
        terminal.press("n")
        terminal.sees("I am a script, not a model")
        terminal.press("what now?\r")
        terminal.sees("> what now?")
        terminal.sees("I am a script, not a model")
        terminal.press("\x04")
        assert terminal.end() == 0
    assert "expects" not in terminal.screen
