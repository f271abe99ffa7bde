"""Condensing as a user or a script sees it who runs `robota`, and as it is left behind by one that was killed."""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

from robota.log.chain.reader import load
from robota.log.replay.session import replay
from robota.log.replay.task import TaskFold
from tests.engine.context.context_stage import DONE, NEARLY_FULL, SUMMARY, WINDOW, reading, words, write_files
from tests.harness.cli import EXECUTABLE, Robota, clean_environment
from tests.log.replay.test_pairing import check_valid


def prepare(robota: Robota, *turns: dict[str, Any]) -> None:
    write_files(robota.workspace, "a.txt", "b.txt")
    info = {"contextWindow": WINDOW, "maxOutputTokens": WINDOW // 2}
    profile = {"type": "scripted", "model": "scripted", "options": {"turns": turns, "modelInfo": info}}
    home = robota.home / ".robota"
    home.mkdir(parents=True, exist_ok=True)
    (home / "settings.json").write_text(json.dumps({"providers": {"s": profile}, "currentProvider": "s"}))


def logged(workspace: Path) -> TaskFold:
    (log,) = workspace.glob(".robota/sessions/*/log.jsonl")
    task = replay(load(log).records).current
    assert task is not None
    return task


def test_scripts_see_a_boundary_and_the_cost(robota: Robota) -> None:
    prepare(robota, reading("a.txt"), reading("b.txt", NEARLY_FULL), SUMMARY, DONE)
    ran = robota("-p", "The task.", "--output-format", "stream-json")
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    (boundary,) = [line for line in lines if line.get("subtype") == "compact_boundary"]
    assert boundary["compact_metadata"]["trigger"] == "auto"
    assert boundary["compact_metadata"]["pre_tokens"] > 42_000
    assert (ran.code, lines[-1]["result"], lines[-1]["total_cost_usd"]) == (0, "All done.", 0.5)


def test_people_who_watch_see_a_line(robota: Robota) -> None:
    prepare(robota, reading("a.txt"), reading("b.txt", NEARLY_FULL), SUMMARY, DONE)
    ran = robota("-p", "The task.", "--verbose")
    assert "conversation condensed: 42," in ran.stderr
    assert ran.stdout == "All done.\n"


def test_killed_in_the_middle_of_a_summary_the_whole_conversation_is_there(robota: Robota) -> None:
    prepare(robota, reading("a.txt"), reading("b.txt", NEARLY_FULL), {**SUMMARY, "delayMs": 60_000})
    command = [str(EXECUTABLE), "-p", "The task.", "--output-format", "messages", "--include-partial-messages"]
    environment = clean_environment(robota.home)
    with subprocess.Popen(command, cwd=robota.workspace, env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert any(b'"condense_context"' in line for line in process.stdout)
        process.send_signal(signal.SIGKILL)
    task = logged(robota.workspace)
    assert not task.context.reduction_ids
    check_valid(task.conversation().turns)
    assert "Looking at a.txt." in words(task.conversation().turns)
    (row,) = [row for row in task.messages if row.say == "condense_context"]
    assert row.interrupted and row.partial is False
