"""`robota intents` and `/intents`: intents are written down, started, completed, and drift is told."""

import json
from pathlib import Path

import pytest

from tests.cli.scripts import script
from tests.engine.stage import call
from tests.harness.cli import Robota
from tests.harness.conversation import typed
from tests.harness.terminal import Terminal
from tests.intents.project import INTENTS, SELECT, intents, write

RUN = "test -f 'src/auth/token.py'"  # no rule can say this, so the user's approval must cover the text


@pytest.fixture
def team(robota: Robota) -> Robota:
    made = robota(
        "intents", "new", "Sign in", "--owns", "src/auth/**", "--constraint", "No new dependency", "--criterion",
        f"run: {RUN}", "--criterion", "It is pleasant", "--start",
    )  # fmt: skip
    assert (made.code, made.stdout.split()[:3]) == (0, ["INT-001", "is", "IN_PROGRESS."])
    return robota


def status(robota: Robota) -> dict[str, object]:
    found: dict[str, object] = json.loads(robota("intents", "status", "INT-001", "--json").stdout)[0]
    return found


def test_an_intent_is_completed_when_its_criteria_pass_and_not_before(team: Robota) -> None:
    assert status(team)["criteriaNeverRun"] == [RUN]
    refused = team("intents", "complete", "INT-001", "--yes")
    assert refused.code == 1 and "failed" in refused.stdout and "stays IN_PROGRESS" in refused.stdout
    assert status(team)["criteriaFailed"] == [RUN]
    assert f"[INT-001 TEST x1] {RUN} failed" in (team.workspace / ".orchestration/AGENT.md").read_text()
    (team.workspace / "src/auth").mkdir(parents=True)
    (team.workspace / "src/auth/token.py").touch()
    done = team("intents", "complete", "INT-001", "--yes")
    assert done.code == 0 and "INT-001 is COMPLETED" in done.stdout and "It is pleasant" in done.stdout
    assert "status: COMPLETED" in (team.workspace / ".orchestration/active_intents.yaml").read_text()
    again = team("intents", "complete", "INT-001", "--yes")
    assert again.code == 1 and "INT-001 is COMPLETED; only one" in again.stderr
    started = team("intents", "start", "INT-001")
    assert started.code == 0 and "It was COMPLETED" in started.stdout


def test_a_criterion_that_nobody_allowed_is_not_run(team: Robota) -> None:
    path = team.workspace / ".orchestration/active_intents.yaml"
    path.write_text(path.read_text().replace(RUN, "python3 -c 1"))
    refused = team("intents", "complete", "INT-001")
    assert refused.code == 1 and "not run" in refused.stdout
    settings = team.home / ".robota/settings.json"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text('{"permissions": {"deny": ["Bash(python3:*)"]}}')
    assert "not run" in team("intents", "complete", "INT-001", "--yes").stdout


@pytest.mark.parametrize(
    ("answer", "told", "status"), [("y", "failed", "stays IN_PROGRESS"), ("n", "Nothing was run", "")]
)
def test_at_a_terminal_the_criteria_are_shown_and_confirmed(team: Robota, answer: str, told: str, status: str) -> None:
    with Terminal(team, "intents", "complete", "INT-001") as terminal:
        terminal.wait_for(RUN)
        terminal.answer("Run them?", answer)
        terminal.wait_for(told)
        terminal.wait_for(status)
        assert terminal.end() == 1


def test_drift_is_told_with_sessions_cost_and_approvals(team: Robota) -> None:
    command = call("execute_command", command='python3 -c \'open("stray.txt", "w")\'')
    script(
        team,
        {"calls": [SELECT]},
        {"calls": [write("src/auth/a.py")], "usage": {"input": 9, "cost": 0.25}},
        {"calls": [command]},
        {"text": "done"},
    )
    team("-p", "go", "--permission-mode", "bypassPermissions")
    assert not (team.workspace / "stray.txt").exists()
    found = status(team)
    assert (found["files"], found["sessions"], found["outsideScope"]) == (1, 1, [])
    assert (found["requests"], found["cost"]) == (3, 0.25)  # those after it was selected
    path = team.workspace / ".orchestration/active_intents.yaml"
    path.write_text(path.read_text().replace("src/auth/**", "src/other/**"))
    assert status(team)["outsideScope"] == ["src/auth/a.py"]
    shown = team("intents", "map")
    assert shown.code == 0 and "| src/auth/a.py |" in (team.workspace / ".orchestration/intent_map.md").read_text()


@pytest.mark.parametrize(
    ("order", "told"),
    [
        ("list", "INT-002"),
        ("", "INT-003"),
        ("show INT-001", "owns: src/auth/**"),
        ("status", "never run: pytest -q"),
        ("start INT-002", "INT-002 is IN_PROGRESS"),
        ("new More docs -- docs/more/**", "INT-004 is PENDING"),
        ("map", "Written to .orchestration/intent_map.md"),
    ],
)
def test_the_same_orders_in_a_conversation(robota: Robota, order: str, told: str) -> None:
    intents(robota.workspace)
    script(robota)
    done = typed(robota, f"/intents {order}".strip())
    assert done.code == 0 and told in done.stdout and "not guarded" not in done.stdout


def test_a_conversation_that_began_without_intents_says_that_it_is_not_guarded(robota: Robota) -> None:
    script(robota)
    assert "is not guarded by them" in typed(robota, "/intents new Docs -- docs/**").stdout


@pytest.mark.parametrize(
    ("order", "told"),
    [("show", "needs the id"), ("show INT-9", "Available: INT-001"), ("what", "Invalid action"), ("new x", "--")],
)
def test_wrong_orders_change_nothing(robota: Robota, order: str, told: str) -> None:
    directory = intents(robota.workspace)
    script(robota)
    done = robota("-p", f"/intents {order}")
    assert done.code != 0 and told in done.stderr + done.stdout
    assert (directory / "active_intents.yaml").read_text() == INTENTS


def test_a_map_shows_words_of_others_as_data(robota: Robota, tmp_path: Path) -> None:
    directory = intents(robota.workspace, INTENTS.replace("Billing", '"<script> | `x`"'))
    (directory / "agent_trace.jsonl").write_text(
        '{"intent_id": "INT-002", "files": [{"relative_path": "a|<b>"}]}\n[1]\n'
    )
    robota("intents", "map")
    text = (directory / "intent_map.md").read_text()
    assert "<script>" not in text and "a\\|&lt;b>" in text


def test_one_ctrl_c_at_the_question_runs_nothing(team: Robota) -> None:
    with Terminal(team, "intents", "complete", "INT-001") as terminal:
        terminal.wait_for("Run them?")
        terminal.press("\x03")
        assert terminal.end() == 1, terminal.screen
    assert status(team)["criteriaNeverRun"] == [RUN] and status(team)["status"] == "IN_PROGRESS"
