"""`robota why`: real sessions of the scripted model, real git, and people who go on editing."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.scripts import call, script, sessions, write_settings
from tests.harness.cli import Robota
from tests.harness.terminal import Terminal

BYPASS = ("--permission-mode", "bypassPermissions")
FUNCTION = """\
def area_of_rectangle(width, height):
    if width < 0 or height < 0:
        raise ValueError("a side is negative")
    return width * height
"""
ORIGINAL = '"""Shapes, by hand."""\n\nUNITS = "centimetres"\n'


def git(robota: Robota, *words: str) -> None:
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_EDITOR": "true"}
    subprocess.run(["git", *words], cwd=robota.workspace, env=env, check=True, capture_output=True)


def commit(robota: Robota, words: str) -> None:
    git(robota, "add", "-A")
    git(robota, "commit", "-qm", words)


def why(robota: Robota, *words: str) -> list[dict[str, Any]]:
    ended = robota("why", *words, "--json")
    assert ended.code == 0, ended.stderr
    lines: list[dict[str, Any]] = json.loads(ended.stdout)["lines"]
    return lines


def writers(robota: Robota, *words: str) -> dict[int, str]:
    """The tool that wrote each line; lines that no agent wrote are left out."""
    return {
        line: each["agent"]["call"]["tool"]
        for each in why(robota, *words)
        if each["agent"]
        for line in range(each["first"], each["last"] + 1)
    }


@pytest.fixture
def worked(robota: Robota) -> Robota:
    """A file by hand, to which a session added a function with a tool and a line with a command."""
    (robota.workspace / "shapes.py").write_text(ORIGINAL)
    commit(robota, "by hand")
    script(
        robota,
        {"text": "I will look.", "calls": [call("read_file", path="shapes.py")]},
        {
            "text": "There is no function yet. I add one at the end.",
            "calls": [call("write_to_file", path="shapes.py", content=ORIGINAL + FUNCTION)],
            "usage": {"input": 900, "output": 70, "cost": 0.0125},
        },
        {"text": "Now the version.", "calls": [call("execute_command", command="echo 'VERSION = 17' >> shapes.py")]},
        {"text": "Done."},
    )
    assert robota("-p", "add the area of a rectangle", *BYPASS).code == 0
    return robota


def test_a_line_leads_to_call_words_prompt_approval_and_cost(worked: Robota) -> None:
    [found] = why(worked, "shapes.py:5")
    agent = found["agent"]
    assert found["text"] == ["    if width < 0 or height < 0:"]
    assert agent["call"]["tool"] == "write_to_file"
    assert agent["said"] == "I add one at the end."
    assert agent["prompt"] == "add the area of a rectangle"
    assert agent["approval"]["by"] == "mode" and agent["approval"]["permissionMode"] == "bypassPermissions"
    assert agent["cost"] == {"usd": 0.0125, "tokensIn": 900, "tokensOut": 70}
    assert agent["session"] == sessions(worked)[0].name and agent["isOwn"]
    shown = worked("why", "shapes.py").stdout
    assert "shapes.py:1-3  no agent wrote this" in shown
    assert "shapes.py:4-7" in shown and "shapes.py:8" in shown
    assert "by execute_command echo 'VERSION = 17' >> shapes.py" in shown


def test_through_edits_by_hand_commits_a_rebase_and_a_rename(worked: Robota) -> None:
    file = worked.workspace / "shapes.py"
    text = file.read_text().replace("centimetres", "inches").replace("return width * height", "return height * width")
    file.write_text("# A line by hand\n" + text)
    commit(worked, "what the agent did, and more")
    git(worked, "checkout", "-q", "-b", "other", "HEAD~1")
    (worked.workspace / "other.txt").write_text("other\n")
    commit(worked, "other")
    git(worked, "checkout", "-q", "main")
    git(worked, "rebase", "-q", "other")
    (worked.workspace / "lib").mkdir()
    git(worked, "mv", "shapes.py", "lib/forms.py")
    commit(worked, "rename")
    expected = {5: "write_to_file", 6: "write_to_file", 7: "write_to_file"}
    assert writers(worked, "lib/forms.py") == expected
    assert writers(worked, "shapes.py", "--commit", "HEAD~1") == {**expected, 9: "execute_command"}
    assert why(worked, "lib/forms.py:4")[0]["agent"] is None, "changed by hand"
    assert why(worked, "lib/forms.py:6")[0]["agent"]["path"] == "shapes.py"


def test_through_another_indentation_in_place_and_in_another_file(worked: Robota) -> None:
    indented = "".join(f"    {line}" for line in FUNCTION.splitlines(keepends=True))
    (worked.workspace / "shapes.py").write_text(ORIGINAL + "class Shapes:\n" + indented)
    assert writers(worked, "shapes.py") == dict.fromkeys(range(5, 9), "write_to_file")
    (worked.workspace / "other.py").write_text("class Others:\n" + indented)
    assert writers(worked, "other.py") == dict.fromkeys(range(2, 6), "write_to_file")


def test_in_every_working_tree_of_the_repository(worked: Robota, tmp_path: Path) -> None:
    commit(worked, "by an agent")
    git(worked, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    [first, *_] = why(worked, "shapes.py:4")
    [there] = why(worked, "shapes.py:4", "--cwd", str(tmp_path / "side"))
    assert there == first and there["agent"]["isOwn"]
    script(worked, {"calls": [call("write_to_file", path="side.py", content=FUNCTION)]}, {"text": "done"})
    assert worked("-p", "go", *BYPASS, "--cwd", str(tmp_path / "side")).code == 0
    (worked.workspace / "merged.py").write_text(FUNCTION)
    assert writers(worked, "merged.py") == dict.fromkeys(range(1, 5), "write_to_file")


def test_in_a_submodule_the_sessions_of_the_project_around_it_count(worked: Robota) -> None:
    module = worked.workspace / "module"
    module.mkdir()
    (worked.workspace / ".git/modules").mkdir()
    subprocess.run(["git", "init", "-q", "--separate-git-dir=../.git/modules/m", "."], cwd=module, check=True)
    (module / "shapes.py").write_text(FUNCTION)
    assert writers(worked, "shapes.py:1", "--cwd", str(module)) == {1: "write_to_file"}


def test_a_copy_of_lines_that_the_user_wrote_does_not_make_the_agent_their_author(robota: Robota) -> None:
    (robota.workspace / "mine.py").write_text(FUNCTION)
    commit(robota, "by hand")
    script(robota, {"calls": [call("write_to_file", path="copy.py", content=FUNCTION)]}, {"text": "Done."})
    assert robota("-p", "copy it", *BYPASS).code == 0
    assert writers(robota, "mine.py") == {}
    assert len(writers(robota, "copy.py")) == 4


INTENTS = """\
active_intents:
  - {id: INT-007, name: Notes, status: IN_PROGRESS, owned_scope: ["*.txt"]}
"""


def test_a_hand_a_rule_and_an_intent_are_told_apart_also_from_below(robota: Robota) -> None:
    (robota.workspace / ".orchestration").mkdir()
    (robota.workspace / ".orchestration" / "active_intents.yaml").write_text(INTENTS)
    script(
        robota,
        {"calls": [call("select_active_intent", intent_id="INT-007")]},
        {"calls": [call("write_to_file", path="ruled.txt", content="by the rule\n")]},
        {"calls": [call("write_to_file", path="asked.txt", content="by hand\n")]},
        {"text": "Done."},
    )
    with Terminal(robota, "--allowed-tools", "Edit(/ruled.txt)", "write notes") as terminal:
        terminal.wait_for("Write asked.txt")
        terminal.answer("> ", "y")
        terminal.wait_for("Done.")
    [ruled], [asked] = why(robota, "ruled.txt"), why(robota, "asked.txt")
    assert (ruled["agent"]["approval"]["by"], ruled["agent"]["approval"]["rule"]) == ("rule", "Edit(/ruled.txt)")
    assert asked["agent"]["approval"]["by"] == "person" and asked["agent"]["approval"]["lookedMs"] > 0
    assert asked["agent"]["intent"] == ruled["agent"]["intent"] == "INT-007"
    shown = robota("why", "asked.txt").stdout
    assert "intent    INT-007" in shown and re.search(
        r"allowed   by the user in robota \(process \d+ at /dev/pts/\d+\), after ", shown
    )
    (robota.workspace / "below").mkdir()
    below = Robota(robota.workspace / "below", robota.home)
    assert why(below, "../asked.txt")[0]["agent"]["prompt"] == "write notes"


def test_what_a_command_renamed_keeps_its_authors(robota: Robota) -> None:
    script(
        robota,
        {"calls": [call("write_to_file", path="a.py", content=FUNCTION)]},
        {"calls": [call("execute_command", command="mv a.py b.py && echo 'LAST = True' >> b.py")]},
        {"text": "Done."},
    )
    assert robota("-p", "write and rename", *BYPASS).code == 0
    assert writers(robota, "b.py") == {**dict.fromkeys(range(1, 5), "write_to_file"), 5: "execute_command"}


def test_without_checkpoints_the_log_is_enough(robota: Robota) -> None:
    (robota.workspace / "shapes.py").write_text(ORIGINAL)
    script(
        robota,
        {"calls": [call("read_file", path="shapes.py")]},
        {"calls": [call("edit_file", path="shapes.py", old_string=ORIGINAL, new_string=ORIGINAL + FUNCTION)]},
        {"text": "Done."},
    )
    settings = json.loads((robota.home / ".robota" / "settings.json").read_text())
    write_settings(robota, {**settings, "checkpoints": {"enabled": False}})
    assert robota("-p", "add it", *BYPASS).code == 0
    assert writers(robota, "shapes.py") == dict.fromkeys(range(4, 8), "edit_file")


def index_of(robota: Robota) -> Path:
    [found] = (robota.home / ".robota" / "projects").glob("*/edits.sqlite")
    return found


def test_the_index_can_be_deleted_and_damaged_and_grows_with_the_logs(worked: Robota) -> None:
    before = why(worked, "shapes.py")
    index_of(worked).unlink()
    assert why(worked, "shapes.py") == before
    index_of(worked).write_bytes(b"no database" * 1000)
    ended = worked("why", "shapes.py", "--json")
    assert json.loads(ended.stdout)["lines"] == before and "rebuilt" in ended.stderr
    script(worked, {"calls": [call("execute_command", command="echo 'MORE = 99' >> shapes.py")]}, {"text": "Done."})
    assert worked("-p", "more", *BYPASS).code == 0
    assert writers(worked, "shapes.py")[9] == "execute_command"
    assert worked("sessions", "delete", sessions(worked)[-1].name).code == 0
    assert 9 not in writers(worked, "shapes.py")


def test_a_damaged_log_and_one_from_elsewhere_are_taken_for_what_they_are(worked: Robota) -> None:
    log = sessions(worked)[0] / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    planted = worked.workspace / ".robota" / "sessions" / "planted"
    planted.mkdir()
    forged = b"".join(line.replace(b"add the area", b"\\u001b[2Jall of it") for line in lines)
    (planted / "log.jsonl").write_bytes(b"\xff{not json\n" * 5 + forged)
    log.write_bytes(b"".join([*lines[:-3], b'{"seq": 1, "half of a li']))
    [found] = why(worked, "shapes.py:5")
    assert found["agent"]["isOwn"] and found["agent"]["prompt"] == "add the area of a rectangle"
    log.unlink()
    ended = worked("why", "shapes.py:5")
    assert ended.code == 0 and "\x1b" not in ended.stdout


def test_a_full_disk_leaves_the_answer_and_says_so(worked: Robota) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    worked("why", "shapes.py:5")
    place = index_of(worked)
    place.unlink()
    place.symlink_to("/dev/full")
    ended = worked("why", "shapes.py:5", "--json")
    assert ended.code == 0 and "the logs are read instead" in ended.stderr
    assert json.loads(ended.stdout)["lines"][0]["agent"]["call"]["tool"] == "write_to_file"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("nothing.py",), "There is no file nothing.py"),
        (("../outside.py:3",), "is not in /"),
        (("shapes.py:0",), "line numbers start at 1"),
        (("shapes.py:5-2",), "the last must not be before the first"),
        (("shapes.py:999",), "has 1 lines, not 999"),
        (("empty.py",), "is empty or not text"),
        (("shapes.py", "--commit", "nonsense"), "cannot be read from the commit nonsense"),
        (("shapes.py", "--commit", "--output=x"), "--commit"),
    ],
)
def test_what_cannot_be_answered_is_said(robota: Robota, words: tuple[str, ...], told: str) -> None:
    (robota.workspace / "shapes.py").write_text("one line\n")
    (robota.workspace / "empty.py").write_bytes(b"\0\1")
    ended = robota("why", *words)
    assert ended.code in (1, 2) and told in ended.stderr and ended.stdout == ""
