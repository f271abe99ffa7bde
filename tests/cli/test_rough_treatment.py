"""Signals, closed pipes, kill -9, a full disk, two at once: nothing is lost and nothing hangs."""

import json
import os
import random
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from robota.log.chain.reader import load
from robota.log.chain.verify import verify
from robota.log.chain.writer import SessionLog
from robota.log.replay.rewind_points import read_rewind_history
from tests.agents.worktrees.repositories import commit
from tests.cli.scripts import call, script, sessions
from tests.harness.cli import EXECUTABLE, LONGEST_RUN_S, Robota, clean_environment, with_room_for

SLOW_TEXT = {"text": "word " * 2000, "chunkSize": 10, "chunkDelayMs": 5}


def start(robota: Robota, *arguments: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [str(EXECUTABLE), *arguments],
        cwd=robota.workspace,
        env=clean_environment(robota.home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def read_until(process: "subprocess.Popen[bytes]", words: bytes) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if words in line:
            return
    raise AssertionError(f"{words!r} never came")


def log_of(robota: Robota) -> Path:
    (directory,) = sessions(robota)
    return directory / "log.jsonl"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_in_mid_answer_still_prints_the_result(robota: Robota, number: int, code: int) -> None:
    script(robota, SLOW_TEXT)
    process = start(robota, "-p", "talk", "--output-format", "stream-json", "--include-partial-messages")
    read_until(process, b"text_delta")
    process.send_signal(number)
    out, err = process.communicate(timeout=LONGEST_RUN_S)
    result = json.loads(out.splitlines()[-1])
    assert process.returncode == code and err == b""
    assert result["type"] == "result" and result["is_error"] and result["terminal_reason"] == "aborted_streaming"
    assert verify(log_of(robota)).broken is None


def test_a_signal_in_a_command_ends_the_command_too(robota: Robota) -> None:
    command = "echo $$ > pid; exec sleep 1000"
    script(robota, {"calls": [call("execute_command", command=command)]})
    arguments = ("--output-format", "stream-json", "--permission-mode", "bypassPermissions")
    process = start(robota, "-p", "wait", *arguments)
    read_until(process, b"tool_use")
    pid_file = robota.workspace / "pid"
    while not (pid_file.exists() and pid_file.read_text().strip()):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=LONGEST_RUN_S)
    assert process.returncode == 130
    assert json.loads(out.splitlines()[-1])["terminal_reason"] == "aborted_tools"
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


def test_a_closed_stdout_ends_quietly(robota: Robota) -> None:
    script(robota, SLOW_TEXT)
    process = start(robota, "-p", "talk", "--output-format", "stream-json", "--include-partial-messages")
    read_until(process, b"text_delta")
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.wait(timeout=LONGEST_RUN_S) == 141
    assert process.stderr.read() == b""
    assert verify(log_of(robota)).broken is None


def test_stdout_closed_before_the_answer(robota: Robota) -> None:
    script(robota, {"text": "Nobody reads this."})
    command = f"{EXECUTABLE} -p hello | true; echo ${{PIPESTATUS[0]}}"
    env = clean_environment(robota.home)
    done = subprocess.run(["bash", "-c", command], cwd=robota.workspace, env=env, capture_output=True, check=False)
    assert done.stdout.strip() in (b"141", b"0")
    assert b"Traceback" not in done.stderr


def long_task() -> list[dict[str, Any]]:
    work = [call("read_file", path="a.txt", limit="{n}"), call("execute_command", command="echo turn {n}")]
    return [{"reasoning": "Step {n}.", "text": "Turn {n} of many.", "calls": work, "repeat": 300, "chunkSize": 6}]


def test_kill_9_at_random_points_loses_no_complete_record(robota: Robota) -> None:
    (robota.workspace / "a.txt").write_text("x\n" * 400)
    script(robota, *long_task())
    points = random.Random(7)
    for attempt in range(20):
        name = f"run-{attempt}"
        process = start(robota, "-p", "work", "--session-id", name, "--permission-mode", "bypassPermissions")
        log = robota.workspace / f".robota/sessions/{name}/log.jsonl"
        size = points.randrange(attempt * 3_000, (attempt + 1) * 3_000)
        while process.poll() is None and (not log.exists() or log.stat().st_size <= size):
            os.sched_yield()
        process.kill()
        process.communicate()
        complete = log.read_bytes().count(b"\n")
        loaded = load(log)
        assert len(loaded.records) >= complete
        writer, _ = SessionLog.open(log.parent, lambda: 0)
        writer.close()
        assert verify(log).broken is None


def test_a_task_of_300_tool_turns(robota: Robota) -> None:
    (robota.workspace / "a.txt").write_text("x\n" * 400)
    script(robota, {"calls": [call("read_file", path="a.txt", limit="{n}")], "repeat": 300}, {"text": "All read."})
    done = robota("-p", "work", "--output-format", "json")
    result = json.loads(done.stdout)
    assert (done.code, result["num_turns"], result["result"]) == (0, 301, "All read.")


def test_two_at_once_in_one_workspace(robota: Robota) -> None:
    script(robota, {"text": "word " * 50, "chunkDelayMs": 2})
    processes = [start(robota, "-p", f"talk of {name}", "--session-id", name) for name in ("one", "two")]
    assert [process.communicate()[0][:5] for process in processes] == [b"word ", b"word "]
    assert [process.returncode for process in processes] == [0, 0]
    assert sorted(directory.name for directory in sessions(robota)) == ["one", "two"]
    for directory in sessions(robota):
        log = directory / "log.jsonl"
        prompts = [point.prompt for point in read_rewind_history(log).points]
        assert prompts == [f"talk of {directory.name}"] and verify(log).broken is None


def test_a_full_disk_is_said_and_nothing_more_is_changed(robota: Robota) -> None:
    (robota.workspace / "a.txt").write_text("x\n" * 400)
    read = {"calls": [call("read_file", path="a.txt", limit="{n}")], "repeat": 30}
    script(robota, read, {"calls": [call("write_to_file", path="new.txt", content="y")]}, {"text": "Finished."})
    arguments = ("-p", "go", "--permission-mode", "bypassPermissions", "--output-format", "json")
    command, env = with_room_for(16, str(EXECUTABLE), *arguments), clean_environment(robota.home)
    done = subprocess.run(command, cwd=robota.workspace, env=env, capture_output=True, check=False)
    result = json.loads(done.stdout)
    assert done.returncode == 1
    assert (result["subtype"], result["is_error"]) == ("error_during_execution", True)
    assert result["terminal_reason"] == "log_failed" and "not saved" in result["errors"][0]
    assert result["result"] == "Finished."
    assert result["permission_denials"][0]["tool_name"] == "Write"
    assert b"session log cannot be written" in done.stderr
    assert not (robota.workspace / "new.txt").exists()
    assert load(log_of(robota)).records


@pytest.mark.parametrize("output", ["text", "json", "stream-json", "messages"])
def test_whichever_record_does_not_fit_the_run_is_no_success(robota: Robota, output: str) -> None:
    """The disk is full from the first record on, in the middle of the answer, at its end, or never."""
    script(robota, {"text": "x" * 60_000})
    env, codes = clean_environment(robota.home), []
    for blocks in (0, 16, 48, 64, 96, 2048):
        arguments = ("-p", "go", "--output-format", output, *(("--verbose",) if output == "stream-json" else ()))
        command = with_room_for(blocks, str(EXECUTABLE), *arguments)
        done = subprocess.run(command, cwd=robota.workspace, env=env, capture_output=True, check=False)
        codes.append(done.returncode)
        is_failure = b"session log cannot be written" in done.stderr + done.stdout
        assert (done.returncode == 1) == is_failure, done
        assert not is_failure or b'"success"' not in done.stdout
    assert codes[0] == 1 and codes[-1] == 0 and codes.count(1) > 2


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace makes fsync fail")
def test_whichever_sync_of_the_log_fails_the_run_is_no_success(robota: Robota, tmp_path: Path) -> None:
    """Also the last one, when the answer is complete and nothing is written any more."""
    script(robota, {"text": "Finished."})
    traced, failed, failed_before_the_end = tmp_path / "traced", 0, 0
    for number in range(1, 20):
        failing = ("strace", "-f", "-y", "-o", str(traced), "-e", f"inject=fsync:error=EIO:when={number}")
        command = [*failing, "-e", "trace=fsync", str(EXECUTABLE), "-p", "go", "--output-format", "json"]
        env = clean_environment(robota.home)
        done = subprocess.run(command, cwd=robota.workspace, env=env, capture_output=True, check=False)
        injected = [line for line in traced.read_text().splitlines() if "INJECTED" in line]
        if not injected:
            break
        is_failure = any("/sessions/" in line for line in injected)
        failed += is_failure
        assert (done.returncode == 1) == is_failure, (done, injected)
        assert (b"not saved" in done.stderr + done.stdout) == is_failure
        failed_before_the_end += b"log_failed" in done.stdout
    assert failed >= 2 and failed_before_the_end


def test_a_deleted_working_directory_is_a_clear_error(robota: Robota) -> None:
    script(robota, {"text": "ok"})
    command = f"mkdir gone && cd gone && rmdir ../gone && exec {EXECUTABLE} -p hello"
    env = clean_environment(robota.home)
    done = subprocess.run(["bash", "-c", command], cwd=robota.workspace, env=env, capture_output=True, check=False)
    assert done.returncode == 3 and b"Traceback" not in done.stderr and b"directory" in done.stderr


def test_a_disk_that_was_full_from_the_start_is_said_too(robota: Robota) -> None:
    """Not even the first record can be written, and no client is attached yet."""
    script(robota, {"calls": [call("write_to_file", path="new.txt", content="y")]}, {"text": "Finished."})
    command = with_room_for(0, str(EXECUTABLE), "-p", "go", "--permission-mode", "bypassPermissions")
    env = clean_environment(robota.home)
    done = subprocess.run(command, cwd=robota.workspace, env=env, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (1, b"Finished.\n")
    assert b"not saved" in done.stderr
    assert done.stderr.count(b"robota: The session log cannot be written") == 1
    assert not (robota.workspace / "new.txt").exists()


@pytest.mark.parametrize(
    ("closed", "answer"), [("<&-", b"Hi.\n"), (">&-", b""), ("2>&-", b"Hi.\n"), ("<&- >&- 2>&-", b"")]
)
@pytest.mark.parametrize("arguments", ["-p hello", "hello", "-w -p hello"])
def test_streams_closed_from_the_start(robota: Robota, closed: str, answer: bytes, arguments: str) -> None:
    commit(robota.workspace, a_txt="alpha\n")
    script(robota, {"text": "Hi."})
    done = in_shell(robota, f"{arguments} {closed}")
    assert (done.returncode, done.stdout) == (0, answer)
    assert verify(log_of(robota)).broken is None


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("arguments", ["--version", "sessions list", "worktree list"])
def test_commands_without_a_stream_do_their_work(robota: Robota, closed: str, arguments: str) -> None:
    done = in_shell(robota, f"{arguments} {closed}")
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("arguments", ["--version", "sessions list", "worktree list", "-p hello"])
def test_an_output_that_is_full_is_an_error_and_no_crash(robota: Robota, arguments: str) -> None:
    script(robota, {"text": "Hi."})
    done = in_shell(robota, f"{arguments} > /dev/full")
    assert done.returncode == 1 and b"Cannot write to standard output: No space left" in done.stderr
    assert b"Traceback" not in done.stderr


def in_shell(robota: Robota, rest: str) -> "subprocess.CompletedProcess[bytes]":
    command = ["bash", "-c", f"exec {EXECUTABLE} {rest}"]
    env = clean_environment(robota.home)
    return subprocess.run(command, cwd=robota.workspace, env=env, capture_output=True, check=False)
