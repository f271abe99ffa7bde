"""What a command inherits."""

import sys

from robota.workspace.process.environment import COMMAND_MARK, command_environment, marked, unmarked


def test_nothing_in_it_makes_a_command_ask_or_page() -> None:
    passed = command_environment({"TERM": "xterm", "PAGER": "less", "HOME": "/h"})
    assert passed["TERM"] == "dumb"
    assert passed["PAGER"] == passed["GIT_PAGER"] == "cat"
    assert passed["GIT_TERMINAL_PROMPT"] == "0"
    assert passed["HOME"] == "/h"


def test_our_own_python_does_not_leak_but_the_projects_does() -> None:
    own = command_environment({"VIRTUAL_ENV": sys.prefix, "PYTHONHOME": "/x", "BASH_ENV": "/evil"})
    assert own.keys().isdisjoint({"VIRTUAL_ENV", "PYTHONHOME", "BASH_ENV"})
    assert command_environment({"VIRTUAL_ENV": "/project/.venv"})["VIRTUAL_ENV"] == "/project/.venv"


def test_a_robota_inside_a_command_adds_its_mark_to_the_outer_one() -> None:
    """So that the outer one still finds everything when it ends the inner one."""
    outer = marked({"HOME": "/h"}, "a.1")
    inner = marked(outer, "b.7")
    assert (outer[COMMAND_MARK], inner[COMMAND_MARK]) == ("a.1;", "a.1;b.7;")
    assert unmarked(inner) == {"HOME": "/h"}
