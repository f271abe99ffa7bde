"""`--continue`, `--resume`, `--fork-session`, `robota state` and `robota answer`, as a user or a script uses them."""

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.scripts import call, script, sessions
from tests.harness.cli import EXECUTABLE, Robota, clean_environment
from tests.harness.session_log import log_text
from tests.harness.terminal import Terminal

QUESTION = {"calls": [call("ask_followup_question", question="Which?", follow_up=[{"text": "A"}, {"text": "B"}])]}


def run_first(
    robota: Robota, *turns: dict[str, Any], prompt: str = "first words", options: tuple[str, ...] = ()
) -> str:
    """A session in print mode; returns its id."""
    script(robota, *turns)
    done = robota("-p", prompt, "--output-format", "json", *options)
    return str(json.loads(done.stdout)["session_id"])


@pytest.mark.parametrize("output_format", ["text", "json", "stream-json", "messages"])
def test_continue_resumes_the_newest_session_in_every_format(robota: Robota, output_format: str) -> None:
    identity = run_first(robota, {"text": "One."})
    script(robota, {"text": "Two.", "expect": {"user": "second words"}})
    done = robota("-c", "-p", "second words", "--output-format", output_format)
    assert done.code == 0 and "Two." in done.stdout, done
    assert [path.name for path in sessions(robota)] == [identity]
    assert robota("sessions", "verify", identity).code == 0
    if output_format == "json":
        assert json.loads(done.stdout)["session_id"] == identity


def test_a_run_counts_what_it_used_itself(robota: Robota) -> None:
    run_first(robota, {"text": "One.", "usage": {"input": 100, "output": 7, "cost": 0.5}})
    script(robota, {"text": "Two.", "usage": {"input": 200, "output": 3, "cost": 0.25}})
    result = json.loads(robota("-c", "-p", "more", "--output-format", "json").stdout)
    assert (result["usage"]["input_tokens"], result["usage"]["output_tokens"]) == (200, 3)
    assert result["total_cost_usd"] == 0.25 and result["num_turns"] == 1


def test_at_the_terminal_a_session_is_chosen_by_its_number_and_its_end_is_shown(robota: Robota) -> None:
    run_first(robota, {"text": "Fence painted."}, prompt="paint the fence")
    run_first(robota, {"text": "Roof mended."}, prompt="mend the roof")
    script(robota, {"text": "Both done."})
    with Terminal(robota, "-r", "--disable-update-check") as terminal:
        terminal.choose("Which session?", "paint the fence")
        terminal.wait_for("> paint the fence")
        terminal.wait_for("Fence painted.")
        terminal.wait_for("> ")
        terminal.press("is it all?\n")
        terminal.wait_for("Both done.")


def test_without_a_session_continue_starts_a_new_one_and_says_so(robota: Robota) -> None:
    script(robota, {"text": "Hello."})
    done = robota("-c", "-p", "hi")
    assert (done.code, done.stdout) == (0, "Hello.\n") and "new one" in done.stderr


@pytest.mark.parametrize("wanted", ["id", "prefix", "name", "words"])
def test_a_session_is_found_by_id_beginning_name_and_words(robota: Robota, wanted: str) -> None:
    other = run_first(robota, {"text": "One."}, prompt="paint the fence", options=("-n", "fence"))
    identity = run_first(robota, {"text": "One."}, prompt="mend the roof", options=("-n", "roofing"))
    script(robota, {"text": "Two."})
    said = {"id": identity, "prefix": identity[:-2], "name": "roofing", "words": "mend roof"}[wanted]
    done = robota("-p", "go on", "-r", said, "--output-format", "json")
    assert json.loads(done.stdout)["session_id"] == identity != other, done


def test_a_name_that_fits_several_lists_them_and_starts_nothing(robota: Robota) -> None:
    found = [run_first(robota, {"text": "One."}, options=("-n", "twins")) for _ in range(2)]
    done = robota("-p", "go on", "-r", "twins")
    assert done.code == 3 and all(identity in done.stderr for identity in found)
    missing = robota("-p", "go on", "-r", "nobody")
    assert missing.code == 3 and "sessions list" in missing.stderr


def test_resume_without_a_name_lists_candidates_without_a_terminal(robota: Robota) -> None:
    identity = run_first(robota, {"text": "One."}, prompt="mend the roof")
    done = robota("-p", "-r")
    assert done.code == 3 and identity in done.stderr and "mend the roof" in done.stderr


def test_a_session_of_another_directory_is_named_with_its_place(robota: Robota, tmp_path: Path) -> None:
    identity = run_first(robota, {"text": "One."})
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = robota("-p", "go on", "-r", identity, "--cwd", str(elsewhere))
    assert done.code == 3 and f"--cwd {robota.workspace} --resume {identity}" in done.stderr, done


def test_a_directory_that_was_renamed_is_named_as_it_is_now(robota: Robota, tmp_path: Path) -> None:
    identity = run_first(robota, {"text": "One."})
    moved = robota.workspace.rename(tmp_path / "with a space")
    robota.workspace.mkdir()
    named = robota("-p", "go on", "-r", identity)
    assert named.code == 3 and "no session" in named.stderr
    script(robota, {"text": "New."})
    done = robota("-c", "-p", "go on", "--cwd", str(moved))
    assert done.stdout == "New.\n"
    assert "1 session not written on this machine in this directory was skipped" in done.stderr
    named = robota("-p", "go on", "-r", identity)
    assert named.code == 3 and f"--cwd '{moved}' --resume {identity}" in named.stderr
    taken = robota("-p", "go on", "-r", identity, "--yes", "--cwd", str(moved), "--output-format", "json")
    assert json.loads(taken.stdout)["session_id"] == identity


def test_a_fork_has_the_conversation_and_leaves_the_session_as_it_is(robota: Robota) -> None:
    identity = run_first(robota, {"text": "One."})
    log = robota.workspace / ".robota/sessions" / identity / "log.jsonl"
    before = log.read_bytes()
    script(robota, {"text": "Two."})
    done = robota("-c", "--fork-session", "-p", "go on", "--output-format", "json")
    forked = json.loads(done.stdout)["session_id"]
    assert forked != identity and log.read_bytes() == before
    copied = log_text(robota.workspace / ".robota/sessions" / forked)
    assert "first words" in copied and "go on" in copied
    assert robota("sessions", "verify", forked).code == 0


def test_a_fork_of_the_first_turn_does_not_contain_the_prompt_of_the_resumption(robota: Robota) -> None:
    identity = run_first(robota, {"text": "One."})
    script(robota, {"text": "Two."})
    assert robota("-c", "-p", "second words").code == 0
    forked = json.loads(robota("sessions", "fork", identity, "--at", "1", "--json").stdout)
    assert "second words" not in Path(forked["path"], "log.jsonl").read_text()
    listed = json.loads(robota("sessions", "list", "--json").stdout)
    assert {each["id"]: each["state"] for each in listed} == {identity: "completed", forked["id"]: "completed"}
    script(robota, {"text": "Three.", "expect": {"user": "other words"}})
    assert robota("-r", forked["id"], "-p", "other words").stdout == "Three.\n"


def test_a_json_answer_without_a_ts_answers_the_question_and_not_the_offer_to_resume(robota: Robota) -> None:
    script(robota, QUESTION)
    identity = json.loads(robota("-p", "go", "--output-format", "json").stdout)["session_id"]
    script(robota, {"text": "B it is.", "expect": {"result": "B"}})
    done = robota("answer", identity, "--json", '{"askResponse": "messageResponse", "text": "B"}')
    assert (done.code, done.stdout) == (0, "B it is.\n"), done


def test_a_question_of_a_script_survives_and_another_process_answers_it(robota: Robota) -> None:
    script(robota, QUESTION)
    asked = robota("-p", "go", "--output-format", "json")
    identity = json.loads(asked.stdout)["session_id"]
    assert asked.code == 10
    state = json.loads(robota("state", identity, "--json").stdout)
    assert state["state"]["state"] == "waiting_for_input" and state["ask"]["ask"] == "followup"
    assert "Which?" in robota("state", identity).stdout
    [second] = [way for way in state["answers"] if way["means"] == "answer 2"]
    assert second["command"] == f"robota answer {identity} B"
    script(robota, {"text": "B it is."})
    done = robota("answer", identity, "--json", json.dumps(second["json"]))
    assert (done.code, done.stdout) == (0, "B it is.\n"), done
    log = log_text(robota.workspace / ".robota/sessions" / identity)
    assert "<user_message>\\nB\\n</user_message>" in log
    again = robota("answer", identity, "--json", json.dumps(second["json"]))
    assert again.code == 1 and "not pending" in again.stderr, again


def test_a_question_and_its_answer_are_read_once_afterwards(robota: Robota) -> None:
    identity = run_first(robota, QUESTION)
    script(robota, {"calls": [call("attempt_completion", result="B it is.")]})
    robota("answer", identity, "2")
    shown = robota("sessions", "show", identity).stdout
    assert shown.endswith("(Question: Which?\n    1 A\n    2 B)\n\n> B\n\nB it is.\n"), shown


def test_who_watches_reads_the_question_in_words(robota: Robota) -> None:
    run_first(robota, QUESTION)
    assert "? waiting for an answer: Which?\n" in robota("sessions", "watch").stdout
    watched = robota("sessions", "watch", "--json")
    assert watched.stdout == "" and "--from-start prints its records" in watched.stderr
    lines = robota("sessions", "watch", "--json", "--from-start").stdout.splitlines()
    assert [json.loads(line)["seq"] for line in lines] == list(range(1, len(lines) + 1))


def test_suggested_answers_that_look_like_numbers_or_options_are_typed_by_their_number(robota: Robota) -> None:
    offered = [{"text": text} for text in ("2", "3", "--all", "no, none")]
    script(robota, {"calls": [call("ask_followup_question", question="How many?", follow_up=offered)]})
    identity = json.loads(robota("-p", "go", "--output-format", "json").stdout)["session_id"]
    ways = json.loads(robota("state", identity, "--json").stdout)["answers"]
    assert [shlex.split(way["command"])[3] for way in ways[:4]] == ["1", "2", "3", "no, none"]
    script(robota, {"text": "Done.", "expect": {"result": "--all"}})
    assert robota(*shlex.split(ways[2]["command"])[1:]).stdout == "Done.\n"


def test_a_limit_is_described_in_words(robota: Robota) -> None:
    script(robota, {"calls": [call("list_files", path=".")]}, {"calls": [call("list_files", path="..")]})
    robota("-p", "go", "--max-turns", "1")
    shown = robota("state").stdout
    assert (
        "The limit of 1 request is reached." in shown
        and "yes, the same amount again:" in shown
        and "count" not in shown
    )


def test_a_question_of_a_subtask_is_shown_and_its_answer_is_sent_to_the_parent(robota: Robota) -> None:
    subtask = {"calls": [call("new_task", mode="code", message="find out")]}
    script(robota, subtask, QUESTION)
    asked = robota("-p", "go", "--output-format", "json", "--permission-mode", "bypassPermissions")
    assert asked.code == 10, asked
    identity = json.loads(asked.stdout)["session_id"]
    told = robota("state", identity).stdout
    assert "Which?" in told and "A subtask asked this" in told and f"robota answer {identity} WORDS" in told
    assert json.loads(robota("state", identity, "--json").stdout)["ask"]["ask"] == "followup"
    script(
        robota,
        {"text": "B it is.", "expect": {"user": 'waiting for the user to answer: "Which?"\n</system-reminder>\nB'}},
    )
    done = robota("answer", identity, "2")
    assert (done.code, done.stdout) == (0, "B it is.\n"), done
    assert "A subtask asked this" not in robota("state", identity).stdout


@pytest.mark.parametrize("words", ["yes", "no"])
def test_a_yes_or_no_to_a_session_that_waits_for_nothing_ends_at_once(robota: Robota, words: str) -> None:
    identity = run_first(robota, {"text": "One."})
    done = robota("answer", identity, words)
    assert done.code == 1 and "Add a prompt to continue" in done.stderr, done
    script(robota, {"text": "Two."})
    assert robota("answer", identity, "and", "more").stdout == "Two.\n"


def test_a_question_waits_again_after_going_back_to_before_its_answer(robota: Robota) -> None:
    identity = run_first(robota, QUESTION)
    script(robota, {"text": "One."})
    assert robota("answer", identity, "A").code == 0
    assert robota("rewind", "restore", "2", "--yes", "--session", identity).code == 0
    state = json.loads(robota("state", identity, "--json").stdout)
    assert (state["state"]["state"], state["ask"]["ask"]) == ("waiting_for_input", "followup")
    script(robota, {"text": "Two.", "expect": {"user": "B"}})
    assert robota("answer", identity, "B").stdout == "Two.\n"


def test_an_approval_left_open_by_kill_9_is_answered_by_another_process(robota: Robota) -> None:
    write = {"calls": [call("write_to_file", path="new.txt", content="new\n")]}
    killed_at_approval(robota, write)
    [directory] = sessions(robota)
    told = robota("state", directory.name).stdout
    assert "new.txt" in told and f"robota answer {directory.name} yes" in told
    script(robota, {"text": "Written."})
    done = robota("answer", directory.name, "yes")
    assert (done.code, done.stdout) == (0, "Written.\n"), done
    assert (robota.workspace / "new.txt").read_text() == "new\n"


def test_what_was_asked_is_what_runs(robota: Robota) -> None:
    """The file changed since: the answer is not used, nothing is written, and it is asked anew."""
    target = robota.workspace / "a.txt"
    target.write_text("one\n")
    edit = {"calls": [call("edit_file", path="a.txt", old_string="one", new_string="1")]}
    killed_at_approval(robota, edit)
    target.write_text("zero\none\n")
    [directory] = sessions(robota)
    script(robota, {"text": "Done."})
    done = robota("answer", directory.name, "yes")
    assert target.read_text() == "zero\none\n"
    assert done.code == 10 and "has changed since it was shown" in done.stdout + done.stderr, done


def killed_at_approval(robota: Robota, turn: dict[str, Any]) -> None:
    """A conversation that is killed while it asks for permission."""
    script(robota, turn)
    with Terminal(robota, "go") as terminal:
        terminal.wait_for("y yes")


def test_a_planted_session_is_not_resumed_without_a_warning(robota: Robota, tmp_path: Path) -> None:
    identity = run_first(robota, {"text": "One."})
    planted = tmp_path / "planted"
    shutil.copytree(robota.workspace / ".robota", planted / ".robota")
    script(robota, {"text": "Two."})
    newest = robota("-c", "-p", "go on", "--cwd", str(planted))
    assert "new one" in newest.stderr
    refused = robota("-r", identity, "-p", "go on", "--cwd", str(planted))
    assert refused.code == 3 and "was not written on this machine" in refused.stderr, refused
    taken = robota("-r", identity, "-p", "go on", "--cwd", str(planted), "--yes")
    assert taken.code == 0, taken


def test_the_second_process_reports_which_process_has_the_session(robota: Robota) -> None:
    identity = run_first(robota, {"text": "One."})
    os.mkfifo(robota.workspace / "up")
    hold = {"calls": [call("execute_command", command="echo up > up; sleep 1000")]}
    script(robota, hold)
    command = [str(EXECUTABLE), "-c", "-p", "hold", "--permission-mode", "bypassPermissions"]
    with subprocess.Popen(command, cwd=robota.workspace, env=clean_environment(robota.home)) as process:
        assert (robota.workspace / "up").read_text() == "up\n"
        second = robota("-c", "-p", "me too")
        state = json.loads(robota("state", identity, "--json").stdout)
        process.kill()
    assert (
        second.code == 3 and f"process {process.pid}" in second.stderr and f"robota attach {identity}" in second.stderr
    ), second
    assert state["pid"] == process.pid
    script(robota, {"text": "Mine now."})
    assert robota("-c", "-p", "me").stdout == "Mine now.\n"


def test_a_log_of_a_newer_version_is_left_as_it_is(robota: Robota) -> None:
    identity = run_first(robota, {"text": "One."})
    newer = (
        "from pathlib import Path; from robota.log.chain.writer import SessionLog, wall_clock_ms;"
        "from robota.log.kinds.session import SessionHeader;"
        f"log, _ = SessionLog.open(Path('.robota/sessions/{identity}'), wall_clock_ms);"
        f"log.append(SessionHeader(id='{identity}', cwd='.', model='m', provider='script',"
        " permission_mode='default', completion='implicit', version='99.0.0'))"
    )
    assert robota.python("-c", newer).code == 0
    log = robota.workspace / ".robota/sessions" / identity / "log.jsonl"
    before = log.read_bytes()
    done = robota("-r", identity, "-p", "go on")
    assert done.code == 3 and "99.0.0" in done.stderr and log.read_bytes() == before


def test_a_damaged_middle_is_reported_and_the_rest_continues(robota: Robota) -> None:
    identity = run_first(robota, {"calls": [call("list_files", path=".")]}, {"text": "One."})
    log = robota.workspace / ".robota/sessions" / identity / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    place = next(number for number, line in enumerate(lines) if b'"toolStart"' in line)
    lines[place] = b"garbage\n"
    log.write_bytes(b"".join(lines))
    script(robota, {"text": "Two."})
    done = robota("-r", identity, "-p", "go on")
    assert (done.code, done.stdout) == (0, "Two.\n") and "damaged" in done.stderr, done
    assert log.read_bytes().startswith(b"".join(lines))


def test_a_session_directory_without_a_log_and_one_that_cannot_be_written(robota: Robota) -> None:
    identity = run_first(robota, {"text": "One."})
    directory = robota.workspace / ".robota/sessions" / identity
    (directory / "log.jsonl").rename(directory / "elsewhere")
    assert "no session" in robota("-r", identity, "-p", "go on").stderr
