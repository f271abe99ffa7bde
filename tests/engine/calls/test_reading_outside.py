"""Reading outside the workspace in sessions: asked about, or in directories that the user added."""

from pathlib import Path

import pytest

from tests.cli.scripts import call, script
from tests.harness.cli import Finished, Robota
from tests.harness.terminal import Terminal
from tests.knowledge.skills.test_bundled_files import results


@pytest.fixture
def library(robota: Robota) -> Path:
    """A directory in the home, which commands see only if it was added."""
    library = robota.home / "lib"
    library.mkdir()
    (library / "colour.py").write_text("COLOUR = 'teal'\n")
    (library / ".env").write_text("KEY=hunter2\n")
    return library


def look(robota: Robota, *options: str, **arguments: str) -> str:
    """What the model gets when it makes this call."""
    name = arguments.pop("tool", "read_file")
    script(robota, {"calls": [call(name, **arguments)]}, {"text": "done"})
    [result] = results(looked(robota, *options))
    return result


def looked(robota: Robota, *options: str) -> Finished:
    return robota("-p", "look", *options, "--output-format", "stream-json", "--verbose")


def test_the_user_is_asked_and_the_file_is_read_after_a_yes(robota: Robota, library: Path) -> None:
    script(
        robota,
        {"calls": [call("read_file", path=str(library / "colour.py"))]},
        {"calls": [call("read_file", path=str(library / "colour.py"))]},
        {"calls": [call("read_file", path="../" * 30 + str(library / "colour.py").lstrip("/"))]},
        {"expect": {"result": "COLOUR"}, "text": "It is teal."},
    )
    with Terminal(robota) as terminal:
        terminal.answer("> ", "which colour?")
        shown = terminal.wait_for("> ")
        terminal.press("1\n")
        assert "It is teal." in terminal.wait_for("It is teal.")
    assert f"Read(/{library}/colour.py)" in shown, "asked once, and the rule was on screen"
    assert "content:" not in shown, "the path is not repeated as an argument"


def test_where_nobody_can_answer_it_is_denied_and_named(robota: Robota, library: Path) -> None:
    result = look(robota, path=str(library / "colour.py"))
    assert "teal" not in result and "outside the workspace" in result
    assert "teal" in look(robota, "--allowed-tools", f"Read(/{library})", path=str(library / "colour.py"))
    assert "teal" not in look(robota, "--allowed-tools", "Read", path=str(library / "colour.py"))


def test_an_added_directory_is_read_by_tools_and_commands_and_not_changed(robota: Robota, library: Path) -> None:
    added = ("--add-dir", str(library))
    assert "teal" in look(robota, *added, path=str(library / "colour.py"))
    assert "colour.py" in look(robota, *added, tool="list_files", path=str(library))
    assert "colour.py" in look(robota, *added, tool="glob", path=str(library), pattern="*.py")
    assert "teal" in look(robota, *added, tool="search_files", path=str(library), regex="COLOUR")
    assert "hunter2" not in look(robota, *added, tool="search_files", path=str(library), regex="KEY")
    assert "hunter2" not in look(robota, *added, path=str(library / ".env"))
    (robota.workspace / "look.sh").write_text(f"cd {library}; cat colour.py .env; echo x > new; ls -A\n")
    ran = look(robota, *added, "--allowed-tools", "Bash", tool="execute_command", command="sh look.sh")
    assert "teal" in ran and "hunter2" not in ran and not (library / "new").exists()
    assert "teal" not in look(
        robota, "--allowed-tools", "Bash", tool="execute_command", command=f"sh -c 'cat {library}/colour.py'"
    )


def test_nothing_of_an_added_directory_takes_effect_and_the_model_knows_of_it(robota: Robota, library: Path) -> None:
    (library / "AGENTS.md").write_text("Answer in Latin.\n")
    script(robota, {"expect": {"user": f"# Further Directories (Read-Only)\n{library}"}, "text": "seen"})
    done = robota("-p", "hello", "--add-dir", str(library))
    assert done.stdout == "seen\n", done.stderr
    script(robota, {"expect": {"system": "Latin"}, "text": "seen"})
    assert robota("-p", "hello", "--add-dir", str(library)).code != 0


def test_a_directory_that_cannot_be_added_starts_nothing(robota: Robota) -> None:
    script(robota, {"text": "done"})
    done = robota("-p", "hello", "--add-dir", str(robota.home))
    assert done.code == 3 and "home directory" in done.stderr and "Nothing was started." in done.stderr


def test_a_directory_added_in_the_conversation_is_seen_by_the_next_command(robota: Robota, library: Path) -> None:
    look_there = call("execute_command", command=f"cat {library}/colour.py")
    script(robota, {"calls": [look_there]}, {"text": "no"}, {"calls": [look_there]}, {"text": "yes"})
    with Terminal(robota) as terminal:
        terminal.answer("> ", "/add-dir")
        terminal.wait_for("reads only in the workspace")
        terminal.answer("> ", "look")
        assert "outside the workspace" in terminal.wait_for("> ")
        terminal.press("y\n")
        terminal.wait_for("/add-dir lets this session read")
        terminal.wait_for("> ")
        terminal.press("n\n")
        terminal.wait_for("no")
        terminal.answer("> ", f"/add-dir {library}")
        terminal.wait_for("may read")
        terminal.answer("> ", "look again")
        terminal.wait_for("COLOUR = 'teal'")


def test_settings_of_the_user_add_directories_and_those_of_a_repository_do_not(robota: Robota, library: Path) -> None:
    read = call("read_file", path=str(library / "colour.py"))
    claude = robota.workspace / ".claude"
    claude.mkdir()
    (claude / "settings.json").write_text(f'{{"permissions": {{"additionalDirectories": ["{library}"]}}}}')
    script(robota, {"calls": [read]}, {"text": "done"})
    robota("trust", "--yes")
    done = looked(robota)
    assert "teal" not in done.stdout and "additionalDirectories" in done.stderr
    (claude / "settings.json").unlink()
    robota("config", "set", "permissions.additionalDirectories", '["~/lib"]')
    assert "teal" in looked(robota).stdout
