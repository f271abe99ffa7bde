"""A user knows a session again by its name, or by what was asked in it."""

from tests.cli.scripts import script, sessions
from tests.harness.cli import Robota


def test_the_list_shows_the_name_or_the_first_prompt(robota: Robota) -> None:
    script(robota, {"text": "one"})
    robota("-p", "Why does\nthe parser fail?")
    robota("-p", "Something else.", "--name", "parser work")
    shown = robota("sessions", "list").stdout
    assert "Why does the parser fail?" in shown
    assert "parser work" in shown and "Something else." not in shown


def test_a_log_that_was_cut_or_holds_control_characters_is_listed_all_the_same(robota: Robota) -> None:
    script(robota, {"text": "one"})
    robota("-p", "clear \x1b[2J the screen")
    assert "\x1b" not in robota("sessions", "list").stdout
    log = sessions(robota)[0] / "log.jsonl"
    log.write_bytes(log.read_bytes().splitlines(keepends=True)[0] + b'{"seq":2,')
    finished = robota("sessions", "list")
    assert (finished.code, len(finished.stdout.splitlines())) == (0, 2)
