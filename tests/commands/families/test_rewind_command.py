"""`robota rewind` after real sessions: files and commands are taken back and done again."""

import fcntl
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.scripts import call, script, sessions
from tests.harness.cli import EXECUTABLE, Finished, Robota, clean_environment
from tests.harness.conversation import typed
from tests.harness.terminal import Terminal
from tests.log.catalogue.logs import Written


def worked(robota: Robota) -> None:
    """A session with an edit by a file tool and one by a command, of a file that the ignore rules leave out."""
    (robota.workspace / ".gitignore").write_text("*.out\n")
    (robota.workspace / "a.txt").write_text("old\n")
    (robota.workspace / "b.out").write_text("old\n")
    edit = call("edit_file", path="a.txt", old_string="old", new_string="new")
    command = call("execute_command", command="rm b.out && touch made.txt")
    script(robota, {"calls": [edit]}, {"calls": [command]}, {"text": "done"})
    done = robota("-p", "change things", "--permission-mode", "bypassPermissions")
    assert done.code == 0, done.stderr
    assert (robota.workspace / "a.txt").read_text() == "new\n"
    assert not (robota.workspace / "b.out").exists()


def files(robota: Robota) -> dict[str, str]:
    found = (path for path in robota.workspace.iterdir() if path.is_file() and path.name != ".gitignore")
    return {path.name: path.read_text() for path in found}


OLD = {"a.txt": "old\n", "b.out": "old\n"}
NEW = {"a.txt": "new\n", "made.txt": ""}


def ok(done: Finished) -> str:
    assert done.code == 0, done.stderr
    return done.stdout


def test_the_list_says_what_a_request_changed(robota: Robota) -> None:
    worked(robota)
    assert "change things" in ok(robota("rewind", "list"))
    [request] = json.loads(ok(robota("rewind", "list", "--json")))["prompts"]
    assert request["files"] == ["a.txt", "b.out", "made.txt"]
    assert [each["tool"] for each in request["calls"]] == ["edit_file", "execute_command"]
    assert "-old\n+new" in ok(robota("rewind", "diff", "1"))


def test_restore_undo_redo(robota: Robota) -> None:
    worked(robota)
    assert "+old" in ok(robota("rewind", "restore", "1", "--dry-run"))
    assert files(robota) == NEW
    ok(robota("rewind", "restore", "1", "--yes"))
    assert files(robota) == OLD
    ok(robota("rewind", "undo", "--yes"))
    assert files(robota) == NEW
    ok(robota("rewind", "redo", "--yes"))
    assert files(robota) == OLD


def test_only_some_files_and_only_from_a_call_on(robota: Robota) -> None:
    worked(robota)
    [request] = json.loads(ok(robota("rewind", "list", "--json")))["prompts"]
    ok(robota("rewind", "restore", "--call", request["calls"][1]["id"], "--yes"))
    assert files(robota) == {"a.txt": "new\n", "b.out": "old\n"}
    ok(robota("sessions", "rename", sessions(robota)[0].name, "my work"))
    missing = robota("rewind", "restore", "1", "--only", "*.txt", "--yes")
    assert missing.code == 1 and "'*.txt' is not in the workspace" in missing.stderr
    ok(robota("rewind", "restore", "1", "--only", "a.txt", "--yes", "--session", "My Work"))
    assert files(robota) == OLD


def test_what_is_too_big_is_named_at_once_and_in_the_list(robota: Robota) -> None:
    script(robota, {"calls": [call("execute_command", command="head -c 2000 /dev/zero > big")]}, {"text": "done"})
    settings = robota.home / ".robota/settings.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "checkpoints": {"maxFileBytes": 1000}}))
    done = robota("-p", "make it", "--permission-mode", "bypassPermissions")
    assert "Not in the checkpoints of this session: big (more than 1,000 bytes)" in done.stderr
    assert "(not captured: big: more than 1,000 bytes)" in ok(robota("rewind", "list"))
    [point] = json.loads(ok(robota("rewind", "list", "--json")))["prompts"]
    assert point["leftOut"] == [{"path": "big", "reason": "more than 1,000 bytes"}]


def test_without_a_user_to_ask_nothing_is_changed(robota: Robota) -> None:
    worked(robota)
    done = robota("rewind", "restore", "1")
    assert done.code == 1 and "--yes" in done.stderr
    assert files(robota) == NEW


@pytest.mark.parametrize(("answer", "after", "code"), [("y", "restored  a.txt", 0), ("n", "Nothing was changed.", 1)])
def test_at_a_terminal_the_diff_is_shown_and_confirmed(robota: Robota, answer: str, after: str, code: int) -> None:
    worked(robota)
    with Terminal(robota, "rewind", "restore", "1") as terminal:
        terminal.wait_for("+old")
        terminal.answer("[y/N]", answer)
        terminal.wait_for(after)
        assert terminal.end() == code
    assert files(robota) == (OLD if answer == "y" else NEW)


@pytest.mark.parametrize(
    "words", ["restore one", "restore 1 --files --conversation", "undo 1", "restore 1 --fast", "code", "fly"]
)
def test_invalid_words_of_a_conversation_change_nothing(robota: Robota, words: str) -> None:
    worked(robota)
    refused = robota("-c", "-p", f"/rewind {words}")
    assert refused.code == 2 and "Usage: /rewind" in refused.stderr and files(robota) == NEW


def test_the_line_of_a_preview_confirms_exactly_that(robota: Robota) -> None:
    worked(robota)
    shown = ok(typed(robota, "/rewind code 1", resumes=sessions(robota)[0]))
    [line] = [line for line in shown.splitlines() if line.startswith("/rewind")]
    (robota.workspace / "a.txt").write_text("mine\n")
    assert typed(robota, line, resumes=sessions(robota)[0]).code == 1
    assert (robota.workspace / "a.txt").read_text() == "mine\n"
    (robota.workspace / "a.txt").write_text(NEW["a.txt"])
    ok(typed(robota, line, resumes=sessions(robota)[0]))
    assert files(robota) == OLD


def test_changes_of_the_user_since_then_are_saved_first(robota: Robota) -> None:
    worked(robota)
    (robota.workspace / "a.txt").write_text("mine\n")
    assert "saved first" in ok(robota("rewind", "restore", "1", "--yes"))
    assert files(robota) == OLD
    ok(robota("rewind", "undo", "--yes"))
    assert files(robota) == {**NEW, "a.txt": "mine\n"}


def test_a_session_that_came_with_the_repository_is_not_resumed(robota: Robota) -> None:
    worked(robota)
    planted = robota.workspace / ".robota/sessions/zzzz"
    planted.mkdir()
    (planted / "log.jsonl").write_bytes((sessions(robota)[0] / "log.jsonl").read_bytes())
    ok(robota("rewind", "list"))
    assert "not written on this machine" in robota("rewind", "list", "--session", "zzzz").stderr


@pytest.mark.parametrize("how", ["forked", "taken up"])
def test_a_planted_session_does_not_lead_to_the_files_of_another_project(
    robota: Robota, tmp_path: Path, how: str
) -> None:
    """Its log names the project and its checkpoints, as anyone knows them who has seen that log."""
    other = Robota(tmp_path / "other", robota.home)
    other.workspace.mkdir()
    worked(other)
    planted = robota.workspace / ".robota/sessions/planted"
    shutil.copytree(sessions(other)[0], planted)
    if how == "forked":
        ok(robota("sessions", "fork", "planted", "--session-id", "copy"))
    else:
        script(robota, {"text": "Here."})
        ok(robota("-r", "planted", "--yes", "-p", "go on"))
    name = "copy" if how == "forked" else "planted"
    assert "is no longer in the store" in robota("rewind", "restore", "1", "--yes", "--session", name).stderr
    assert files(other) == NEW


def test_a_session_that_only_reads_makes_no_store(robota: Robota) -> None:
    (robota.workspace / "a.txt").write_text("x")
    script(robota, {"calls": [call("read_file", path="a.txt")]}, {"text": "done"})
    ok(robota("-p", "look"))
    assert stores(robota) == []


def test_a_deleted_store_is_reported(robota: Robota) -> None:
    worked(robota)
    [store] = stores(robota)
    store.rename(store.with_name("elsewhere"))
    assert "removed" in ok(robota("rewind", "list"))
    done = robota("rewind", "restore", "1", "--yes")
    assert done.code == 1 and "no longer in the store" in done.stderr


def test_a_missing_place_for_checkpoints_is_reported_and_the_call_runs(robota: Robota) -> None:
    (robota.workspace / "a.txt").write_text("old\n")
    edit = call("edit_file", path="a.txt", old_string="old", new_string="new")
    script(robota, {"calls": [edit]}, {"text": "done"})
    (robota.home / ".robota/projects").write_text("in the way")
    done = robota("-p", "go", "--permission-mode", "acceptEdits", "--verbose")
    assert (robota.workspace / "a.txt").read_text() == "new\n"
    assert (done.stdout + done.stderr).count("No checkpoint was saved") == 1


def stores(robota: Robota) -> list[Path]:
    return list((robota.home / ".robota").glob("projects/*/checkpoints"))


def talked(robota: Robota) -> None:
    """A conversation with two prompts at a terminal, in which the second is taken back and said again otherwise."""
    (robota.workspace / "a.txt").write_text("old\n")
    edits = [call("edit_file", path="a.txt", old_string=old, new_string=new) for old, new in (("old", "1"), ("1", "2"))]
    turns: list[dict[str, Any]] = [{"calls": [edits[0]]}, {"text": "first done"}, {"calls": [edits[1]]}]
    script(robota, *turns, {"text": "second done"}, {"text": "third done"})
    with Terminal(robota, "--permission-mode", "bypassPermissions") as terminal:
        terminal.wait_for("> ")
        terminal.press("make it one\n")
        terminal.wait_for("first done")
        terminal.wait_for("> ")
        terminal.press("make it two\n")
        terminal.wait_for("second done")
        terminal.wait_for("> ")
        terminal.press("/rewind restore 2\n")
        terminal.wait_for("-2")
        terminal.wait_for("> ")
        terminal.press("y\n")
        terminal.wait_for("> make it two")
        assert (robota.workspace / "a.txt").read_text() == "1\n"
        terminal.press(" or not\n")
        terminal.wait_for("third done")
        terminal.wait_for("> ")
        assert terminal.leave("\x04") == 0


def prompts(robota: Robota) -> list[tuple[str, bool]]:
    listed = json.loads(ok(robota("rewind", "list", "--json")))["prompts"]
    return [(each["prompt"], each.get("isLive", True)) for each in listed]


def test_a_conversation_is_taken_back_and_the_prompt_is_there_to_be_changed(robota: Robota) -> None:
    talked(robota)
    assert prompts(robota) == [("make it one", True), ("make it two", False), ("make it two or not", True)]


def test_the_abandoned_branch_can_be_resumed_when_no_process_has_the_session_open(robota: Robota) -> None:
    talked(robota)
    done = json.loads(ok(robota("rewind", "restore", "2", "--yes", "--json")))
    assert done["leftPrompts"] == [3] and done["draft"] == "make it two or not"
    ok(robota("rewind", "undo", "--yes"))
    assert prompts(robota)[2] == ("make it two or not", True)
    ok(robota("rewind", "undo", "--yes"))
    assert (robota.workspace / "a.txt").read_text() == "2\n"
    assert [is_live for _, is_live in prompts(robota)] == [True, True, False]
    [session] = sessions(robota)
    assert robota("sessions", "verify", session.name).code == 0


def test_one_half_of_it(robota: Robota) -> None:
    talked(robota)
    ok(robota("rewind", "restore", "1", "--files", "--yes"))
    assert (robota.workspace / "a.txt").read_text() == "old\n" and len(prompts(robota)) == 3
    ok(robota("rewind", "restore", "1", "--conversation", "--yes"))
    assert [is_live for _, is_live in prompts(robota)] == [False, False, False]


def test_a_session_that_is_open_elsewhere_is_left_to_it(robota: Robota) -> None:
    worked(robota)
    [session] = sessions(robota)
    with (session / "log.jsonl").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = robota("rewind", "restore", "1", "--yes")
        assert done.code == 1 and "/rewind" in done.stderr
        assert files(robota) == NEW
        assert "+old" in ok(robota("rewind", "restore", "1", "--dry-run"))


def test_while_a_call_of_another_session_runs_files_are_not_restored(robota: Robota) -> None:
    worked(robota)
    [session] = sessions(robota)
    os.mkfifo(robota.workspace / "up")
    script(robota, {"calls": [call("execute_command", command="echo up > up; sleep 1000")]})
    command = [str(EXECUTABLE), "-p", "wait", "--permission-mode", "bypassPermissions"]
    environment = clean_environment(robota.home)
    with subprocess.Popen(command, cwd=robota.workspace, env=environment, stdout=subprocess.DEVNULL) as other:
        assert (robota.workspace / "up").read_text() == "up\n"
        (robota.workspace / "up").unlink()
        refused = robota("rewind", "restore", "1", "--yes", "--session", session.name)
        assert refused.code == 1 and f"process {other.pid} " in refused.stderr, refused.stderr
        assert "Nothing was restored" in refused.stderr and files(robota) == NEW
        other.kill()
    ok(robota("rewind", "restore", "1", "--yes", "--session", session.name))
    assert files(robota) == OLD


def test_the_newest_session_with_checkpoints_is_meant_and_named(robota: Robota) -> None:
    worked(robota)
    [session] = sessions(robota)
    script(robota, {"text": "hello"})
    ok(robota("-p", "say hello"))
    assert session.name in robota("rewind", "list").stderr


def test_a_session_from_elsewhere_does_not_become_one_of_here_by_going_back_in_it(robota: Robota) -> None:
    Written(robota.workspace, "planted").prompt("one").reply("1").prompt("two").reply("2").end()
    done = robota("rewind", "restore", "2", "--conversation", "--yes", "--session", "planted")
    assert done.code == 0 and "was not written on this machine" in done.stderr
    [listed] = json.loads(ok(robota("sessions", "list", "--json")))
    assert listed["id"] == "planted" and not listed["isOwn"]


def test_a_checkpoint_store_that_was_deleted_is_named_by_everything_that_needs_it(robota: Robota) -> None:
    worked(robota)
    for store in (robota.home / ".robota/projects").glob("*/checkpoints"):
        shutil.rmtree(store)
    assert "(checkpoints removed)" in ok(robota("rewind", "list"))
    session = sessions(robota)[0].name
    for arguments in (("rewind", "diff", "1"), ("rewind", "restore", "1", "--yes"), ("bisect", "--test", "true")):
        done = robota(*arguments)
        assert done.code == 1 and "was pruned, or the store was deleted. Files were not changed" in done.stderr
    assert files(robota) == NEW
    assert ok(robota("rewind", "restore", "1", "--conversation", "--yes", "--session", session))
