"""A session does not go on without its log: one that was deleted is put back, or nothing may be changed."""

import threading
from pathlib import Path

import pytest

from robota.log.chain.reader import load
from robota.log.chain.verify import verify
from robota.log.replay.session import replay
from robota.protocol.events import Notice
from tests.engine.stage import Stage, call, play


def test_a_log_that_was_deleted_is_put_back_and_a_user_is_told(workspace: Path) -> None:
    """With bypassPermissions, `git clean -fdx` removes `.robota`."""

    async def story(stage: Stage) -> None:
        await stage.start("clean up")
        await stage.until_ask("completion_result")
        assert (workspace / "after.txt").read_text() == "x\n"
        assert any("was restored" in notice.text for notice in stage.events_of(Notice))
        assert (workspace / ".robota/.gitignore").read_text() == "*\n"
        assert stage.opened.log.path.stat().st_mode & 0o777 == 0o600
        assert verify(stage.opened.log.path).broken is None
        [task] = replay(load(stage.opened.log.path).records).tasks.values()
        assert [row.text for row in task.messages if row.say == "text"] == ["clean up", "done"]

    turns = [
        {"calls": [call("execute_command", command="git clean -fdxq")]},
        {"calls": [call("write_to_file", path="after.txt", content="x\n")]},
        {"text": "done"},
    ]
    play(workspace, turns, story, permission_mode="bypassPermissions")


def test_what_replaced_the_log_is_put_aside(workspace: Path) -> None:
    """Another file of that name is not appended to."""

    async def story(stage: Stage) -> None:
        path = stage.opened.log.path
        await stage.start("go")
        await stage.until_ask("completion_result")
        path.unlink()
        path.write_text("not a log\n")
        await stage.answer("messageResponse", "go on")
        await stage.until_ask("completion_result")
        await stage.opened.log.sync()
        assert verify(path).broken is None
        assert [each.read_text() for each in path.parent.glob("*.foreign-*")] == ["not a log\n"]

    play(workspace, [{"text": "one"}, {"text": "two"}], story)


def test_without_a_place_for_the_log_nothing_is_changed(workspace: Path) -> None:
    """A call that would change something is refused before it runs."""

    async def story(stage: Stage) -> None:
        await stage.start("break it")
        await stage.until_ask("completion_result")
        assert not (workspace / "after.txt").exists()
        assert "session log" in tool_results_seen(stage)

    def tool_results_seen(stage: Stage) -> str:
        return " ".join(notice.text for notice in stage.events_of(Notice))

    turns = [
        {"calls": [call("execute_command", command="rm -rf .robota && touch .robota")]},
        {"calls": [call("write_to_file", path="after.txt", content="x\n")]},
        {"text": "done"},
    ]
    play(workspace, turns, story, permission_mode="bypassPermissions")


def test_a_log_that_was_emptied_is_noticed_and_nothing_more_is_changed(workspace: Path) -> None:
    """A command can empty it where the sandbox cannot protect single files. The records cannot be restored."""

    async def story(stage: Stage) -> None:
        await stage.start("break it")
        await stage.until_ask("completion_result")
        assert not (workspace / "after.txt").exists()
        assert any("has truncated the session log" in notice.text for notice in stage.events_of(Notice))
        assert verify(stage.opened.log.path).broken is not None

    turns = [
        {"calls": [call("execute_command", command="for log in .robota/sessions/*/log.jsonl; do : > $log; done")]},
        {"calls": [call("write_to_file", path="after.txt", content="x\n")]},
        {"text": "done"},
    ]
    play(workspace, turns, story, permission_mode="bypassPermissions")


def test_a_disk_that_does_not_answer_keeps_nobody_from_leaving(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Leaving has a deadline, and does not wait for threads that hang."""
    answers = threading.Event()

    def hang(descriptor: int) -> None:
        answers.wait()

    async def story(stage: Stage) -> None:
        await stage.start("go")
        await stage.until_ask("completion_result")

    monkeypatch.setattr("robota.engine.session.session.LAST_SYNC_SECONDS", 0.2)
    monkeypatch.setattr("os.fsync", hang)
    try:
        play(workspace, [{"text": "done"}], story)
    finally:
        answers.set()
