"""The evaluation tells work that was done from work that was not. The scripted model plays both."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evals.__main__ import TASKS, main
from evals.judging import Verdict, attempt, build, judge, table
from evals.log_facts import Call, LogFacts
from evals.task import Task
from tests.cli.scripts import call, script
from tests.evals.plays import PLAYS
from tests.harness.cli import Robota, clean_environment

ROOT = Path(__file__).parents[2]
KNOWN = {task.name: task for task in TASKS}
ONE_HYPHEN = call(
    "edit_file",
    path="slug.py",
    old_string='title.lower().replace(" ", "-")',
    new_string='"-".join(title.lower().split())',
)


def played(robota: Robota, task: str, *turns: dict[str, Any]) -> Verdict:
    script(robota, *turns, **PLAYS[task].model)
    return attempt(KNOWN[task], ("--provider", "script"), env=clean_environment(robota.home))


def test_work_that_was_done_is_accepted(robota: Robota, tmp_path: Path) -> None:
    """As `make evals` runs it."""
    script(robota, {"calls": [ONE_HYPHEN], "usage": {"input": 100, "output": 5}}, {"text": "slug() joins words now."})
    lines = tmp_path / "verdicts.jsonl"
    run = subprocess.run(
        [sys.executable, "-m", "evals", "fix-with-reproduction", "--profile=script", "--tries=1", f"--json={lines}"],
        cwd=ROOT,
        env=clean_environment(robota.home),
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run
    assert "1 of 1 accepted" in run.stdout
    verdict = json.loads(lines.read_text())
    assert verdict["accepted"] and verdict["failed"] == [] and verdict["exit_code"] == 0
    assert (verdict["requests"], verdict["tool_errors"]) == (2, {})
    # The usage of the second request was not reported, and is estimated.
    assert verdict["tokens_in"] > 100 and verdict["tokens_out"] > 5


def test_work_that_was_only_claimed_is_not_accepted_and_every_metric_says_so(robota: Robota) -> None:
    verdict = played(
        robota,
        "fix-with-reproduction",
        {"calls": [call("read_file", path="slugs.py")], "usage": {"input": 100, "output": 5, "cacheRead": 300}},
        {"calls": [call("edit_file", path="slug.py", old_string="absent", new_string="-"), call("curl", url="x")]},
        {"calls": [call("execute_command", command="rm slug.py")]},
        {"calls": [call("execute_command", command="rm slug.py")]},
        {"text": "I fixed it. All tests pass."},
    )
    assert not verdict.accepted and verdict.failed == ("acceptance command",)
    assert verdict.requests == 5 and verdict.tokens_in > 400 and verdict.tokens_out > 5
    assert verdict.cached_share is not None and 0 < verdict.cached_share < 0.75  # of 300 tokens, and estimated ones
    assert verdict.tool_errors == {
        "read_file error": 1,
        "edit_file error": 1,
        "curl error": 1,
        "execute_command denied": 2,
    }
    assert (verdict.failed_edits, verdict.retried_denials, verdict.claims_untested) == (1, 1, True)
    assert "NO" in table([verdict]) and "0 of 1 accepted" in table([verdict])


@pytest.mark.slow
@pytest.mark.parametrize("task", PLAYS)
def test_every_task_accepts_a_solution(robota: Robota, task: str) -> None:
    assert played(robota, task, *PLAYS[task].solution).failed == ()


@pytest.mark.slow
@pytest.mark.parametrize(("task", "what"), [(task, what) for task, play in PLAYS.items() for what in play.mistakes])
def test_every_task_refuses_a_typical_mistake(robota: Robota, task: str, what: str) -> None:
    mistake = PLAYS[task].mistakes[what]
    failed = played(robota, task, *mistake.turns).failed
    assert len(failed) == len(mistake.reasons), failed
    assert all(reason.startswith(begins) for reason, begins in zip(failed, mistake.reasons, strict=True)), failed


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_doing_nothing_is_never_accepted(tmp_path: Path, task: Task) -> None:
    build(task, tmp_path / "repository")
    assert not judge(task, tmp_path / "repository", LogFacts()).accepted


@pytest.mark.parametrize(
    ("answer", "command", "is_untested"),
    [
        ("Fixed. All 12 tests pass now.", "", True),
        ("Alle Tests sind grün.", "", True),
        ("All tests pass.", "python3 -m unittest -q", False),
        ("I could not run the tests, so I do not know whether they pass.", "", False),
        ("I added two tests.", "", False),
    ],
)
def test_a_claim_about_tests_needs_a_test_run(answer: str, command: str, is_untested: bool) -> None:
    ran = Call(tool="execute_command", input={"command": command}, status="success")
    assert LogFacts(answer=answer, calls=(ran,)).claims_untested is is_untested


def test_every_task_has_its_own_name_and_is_played() -> None:
    assert len(KNOWN) == len(TASKS) == 26
    assert KNOWN.keys() == PLAYS.keys()


@pytest.mark.parametrize(
    ("profile", "told"),
    [("", "Name a provider profile of your settings"), ("nope", "and asked no model, for the reason above.")],
)
def test_without_a_model_nothing_is_judged(
    profile: str, told: str, home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["evals", "--profile", profile, "--tries", "3"])
    with pytest.raises(SystemExit):
        main()
    printed = capfd.readouterr()
    assert told in printed.err and "accepted" not in printed.out
