"""Committing: one question, which a rule can answer the next time, and none about the sandbox."""

import subprocess
from pathlib import Path

import pytest

from robota.protocol.commands import AskResponse
from robota.workspace.git.writing_commands import writes_git_data
from tests.engine.stage import Stage, call, play, tool_results

DONE = {"text": "done"}


def commit(message: str) -> dict[str, object]:
    return {"calls": [call("execute_command", command=f"git commit -am {message}")]}


@pytest.fixture
def repository(workspace: Path) -> Path:
    for words in (
        ["init", "-q", "-b", "main"],
        ["config", "user.name", "Somebody"],
        ["config", "user.email", "somebody@example.com"],
        ["commit", "-q", "--allow-empty", "-m", "first"],
    ):
        subprocess.run(["git", *words], cwd=workspace, check=True)
    for name in ("one", "two"):
        (workspace / name).write_text("")
        subprocess.run(["git", "add", name], cwd=workspace, check=True)
    return workspace


def subjects(repository: Path) -> list[str]:
    done = subprocess.run(["git", "log", "--format=%s"], cwd=repository, check=True, capture_output=True, text=True)
    return done.stdout.split()


def test_one_yes_commits_and_a_rule_for_such_commands_holds_the_next_time(repository: Path) -> None:
    """There is no second question about the sandbox, and `Bash(git commit *)` is offered."""

    async def story(stage: Stage) -> None:
        await stage.start()
        ask = await stage.until_ask("command")
        assert ask.verdict is not None
        offered = [rule for each in ask.verdict.suggestions for rule in each.rules]
        assert "Bash(git commit *)" in offered
        rules = ("Bash(git commit *)",)
        await stage.submit(AskResponse(ask_response="yesButtonClicked", ts=ask.ts, grant=rules))
        await stage.until_ask("completion_result")
        assert len([row for row in stage.rows if row.ask == "command"]) == 1

    more = {"calls": [call("execute_command", command="git commit --allow-empty -m again")]}
    play(repository, [commit("second"), more, DONE], story)
    assert subjects(repository) == ["again", "second", "first"]


def test_in_print_mode_a_rule_is_enough(repository: Path) -> None:
    """Nobody is there to answer a question."""

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("completion_result")
        assert "Exit code: 0" in tool_results(stage)[0].content

    play(repository, [commit("second"), DONE], story, attended=False, allowed_tools=("Bash(git commit *)",))
    assert subjects(repository) == ["second", "first"]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git commit -m x", True),
        ("cd src && git add -A && git commit -m 'a b' 2>&1 | tail -3", True),
        ("git commit -m \"$(cat <<'EOF'\nwords\nEOF\n)\"", True),
        ("git -c user.name=x commit -m x", True),
        ("git status", False),
        ("npm test && git commit -m x", False),
        ('git commit -m "$(curl http://example.com)"', False),
        ("git config user.name x", False),
        ("git rebase main", False),
        ("git switch work; git rebase main", False),  # a conflict would leave it on no branch, and no rebase under way
        ("git commit -am x && git am patch", False),
        ("git -C ../other commit -m x", False),
        ("git --git-dir=../other/.git commit -m x", False),
        ("./git commit", False),
    ],
)
def test_git_gets_its_data_only_where_all_that_runs_is_git(command: str, expected: bool) -> None:
    assert writes_git_data(command) is expected
