"""Locales that are not UTF-8: names and texts are what they are in any other."""

import json

import pytest

from tests.cli.scripts import script
from tests.harness.cli import Robota

FREE = ("--permission-mode", "bypassPermissions", "--output-format", "stream-json")
LOCALES = [
    {"LC_ALL": "C"},
    {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    {"LC_ALL": "en_US.ISO-8859-1", "PYTHONUTF8": "0"},
]


def call(name: str, **arguments: str) -> dict[str, object]:
    return {"calls": [{"name": name, "arguments": arguments}]}


@pytest.mark.parametrize("locale", LOCALES, ids=lambda locale: "-".join(locale.values()))
def test_a_name_that_the_locale_does_not_know_works_everywhere(robota: Robota, locale: dict[str, str]) -> None:
    """The file is written, read, changed, listed, found and printed. A name that is not text breaks nothing."""
    (robota.workspace / "bad\udcff.txt").write_text("beta\n")
    script(
        robota,
        call("write_to_file", path="漢.txt", content="alpha 漢\n"),
        call("edit_file", path="漢.txt", old_string="alpha", new_string="beta"),
        call("read_file", path="漢.txt"),
        call("list_files", path="."),
        call("search_files", path=".", regex="beta"),
        call("execute_command", command="cat 漢.txt; ls"),
        {"text": "fertig 漢"},
    )
    done = robota("-p", "mach 漢", *FREE, env=locale)
    assert done.code == 0, done.stderr
    assert (robota.workspace / "漢.txt").read_bytes() == "beta 漢\n".encode()
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[-1]["result"] == "fertig 漢"
    told = json.dumps([line for line in lines if line["type"] == "user"], ensure_ascii=False)
    assert told.count("漢.txt") >= 4 and told.count("beta 漢") >= 3
    assert "bad\\\\xff.txt" in told
    assert "mach 漢" in "".join(path.read_text() for path in robota.workspace.rglob("log.jsonl"))


def test_the_environment_of_commands_stays_as_it_is(robota: Robota) -> None:
    """Restarting in UTF-8 mode neither changes it nor imports a module of the workspace."""
    (robota.workspace / "robota.py").write_text("raise SystemExit('taken from the workspace')")
    locale = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    script(robota, call("execute_command", command="env | grep -E 'LC_ALL|UTF8|COERCE' | sort"), {"text": "ok"})
    done = robota("-p", "go", *FREE, env=locale)
    assert done.code == 0, done.stderr
    assert "LC_ALL=C\\nPYTHONCOERCECLOCALE=0\\nPYTHONUTF8=0" in done.stdout
