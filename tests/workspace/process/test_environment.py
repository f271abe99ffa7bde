"""What a command inherits."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.mark.parametrize(
    "name", ["zh_CN.UTF-8", "de_DE.utf8", "C", "C.UTF-8", "de_DE.ISO-8859-15@euro", "ru_RU.KOI8-R"]
)
def test_a_locale_in_which_bash_reads_what_was_checked_is_kept(name: str) -> None:
    assert command_environment({"LANG": name, "LC_ALL": name}).items() >= {"LANG": name, "LC_ALL": name}.items()


@pytest.mark.parametrize("name", ["zh_CN.GBK", "zh_CN.gb18030", "zh_TW", "ja_JP.SJIS", "zh_HK.big5hkscs"])
def test_another_locale_decides_only_about_messages(name: str) -> None:
    assert command_environment({"LC_ALL": name})["LC_ALL"] == "C.UTF-8"
    passed = command_environment({"LANG": name, "LC_ALL": ""})
    assert (passed["LANG"], passed["LC_CTYPE"]) == (name, "C.UTF-8")


def test_no_character_of_a_command_swallows_the_next_one(tmp_path: Path) -> None:
    """In GBK, the last byte of this character and the backslash are one character, and the quote ends the text."""
    charmap, localedef = Path("/usr/share/i18n/charmaps/GBK.gz"), shutil.which("localedef")
    if localedef is None or not charmap.exists():
        pytest.skip("this machine cannot make a locale")
    subprocess.run([localedef, "-c", "-f", "GBK", "-i", "zh_CN", str(tmp_path / "zh_CN.GBK")], check=True)
    chosen = {"PATH": "/usr/bin:/bin", "LOCPATH": str(tmp_path), "LC_ALL": "zh_CN.GBK"}
    command = ["bash", "-c", 'echo "\u4f60\\" ; echo second #"']

    def lines(env: dict[str, str]) -> int:
        return subprocess.run(command, env=env, check=True, capture_output=True).stdout.count(b"\n")

    assert lines(chosen) == 2, "the trick works"
    assert lines(command_environment(chosen)) == 1
