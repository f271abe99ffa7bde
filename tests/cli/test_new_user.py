"""What somebody needs to know who starts Robota for the first time."""

import os

from tests.harness.cli import EXECUTABLE, Robota


def test_the_demo_says_where_the_command_is_if_the_shell_does_not_find_it(robota: Robota) -> None:
    shown = robota("demo", env={"PATH": os.defpath}).stdout
    assert f'export PATH="{EXECUTABLE.parent}:$PATH"' in shown
    assert "robota --configure " in shown
    assert "\n\n\n" not in shown


def test_without_a_provider_there_is_still_something_to_try(robota: Robota) -> None:
    assert robota("-p", "hello").stderr.endswith("robota demo\n")
