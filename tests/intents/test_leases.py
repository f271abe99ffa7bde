"""Two sessions whose intents share files: the second knows who holds what, and keeps off it or waits."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from robota.app.session import open_session
from robota.config.launch_options import LaunchOptions
from robota.intents.intent import Intent, read_intents
from robota.intents.leases import LeaseBook
from robota.protocol.commands import CancelTask, ClearTask
from robota.protocol.events import Notice
from tests.engine.stage import Stage, call, play, tool_results
from tests.intents.project import INTENTS, SELECT, intents, told, turns, write

OVERLAPPING = INTENTS.replace("[docs/**]", "[src/auth/tokens/**, docs/**]")
SELECT_DOCS = call("select_active_intent", intent_id="INT-003")


def book(tmp_path: Path, session: str, root: Path | None = None) -> LeaseBook:
    return LeaseBook(tmp_path / "leases", session, root or tmp_path, lambda: "now")


def owning(*patterns: str, id: str = "INT-001") -> Intent:
    text = json.dumps({"active_intents": [{"id": id, "status": "IN_PROGRESS", "owned_scope": list(patterns)}]})
    return read_intents(text)[0]


def test_the_first_holds_its_files_until_it_lets_go(tmp_path: Path) -> None:
    first, second = book(tmp_path, "one"), book(tmp_path, "two")
    first.take(owning("src/**"))
    second.take(owning("src/a/**", "docs/**"))
    assert (held := second.holder("src/a/x.py")) is not None and held.session_id == "one"
    assert second.holder("docs/x.md") is None and first.holder("src/a/x.py") is None
    first.release()
    assert second.holder("src/a/x.py") is None


def test_the_lease_of_a_process_that_was_killed_holds_nothing(tmp_path: Path) -> None:
    program = (
        "import sys, os, signal; from pathlib import Path; from tests.intents.test_leases import book, owning;"
        "book(Path(sys.argv[1]), 'dead').take(owning('src/**')); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False, cwd=Path(__file__).parents[2])
    left = tmp_path / "leases" / "dead.lease"
    assert left.exists()
    two = book(tmp_path, "two")
    assert two.overlapping(owning("src/a.py")) == ()
    two.take(owning("src/a.py"))
    assert not left.exists()


@pytest.mark.parametrize(
    ("one", "other", "overlap"),
    [
        ("src/**", "src/auth/a.py", True),
        ("src/auth", "src/auth/tokens/**", True),
        ("src/**/*.py", "src/auth/*", True),  # by the file that there is
        ("*.py", "src/**", True),
        ("src/**", "docs/**", False),
        ("src/auth/**", "src/authority/**", False),
        ("src/*.py", "src/*.md", False),
    ],
)
def test_overlap_is_found_in_patterns_and_in_real_files(tmp_path: Path, one: str, other: str, overlap: bool) -> None:
    (tmp_path / "src/auth").mkdir(parents=True)
    (tmp_path / "src/auth/a.py").touch()
    book(tmp_path, "one").take(kept := owning(one))
    holder = book(tmp_path, "three")
    holder.take(kept)
    assert bool(book(tmp_path, "two").overlapping(owning(other))) == overlap


def test_a_file_that_somebody_wrote_there_breaks_nothing(tmp_path: Path) -> None:
    (tmp_path / "leases").mkdir()
    (tmp_path / "leases/x.lease").write_bytes(b"{")
    (tmp_path / "leases/y.lease").mkdir()
    assert book(tmp_path, "two").others() == ()


def opened(workspace: Path, script: list[Any], *, attended: bool = True, **settings: Any) -> Stage:
    """A session whose model follows the script, with these user settings."""
    home = workspace.parent / "robota-home"
    home.mkdir(exist_ok=True)
    profile = {"type": "scripted", "model": "scripted", "options": {"turns": script}}
    told = {"currentProvider": "script", "providers": {"script": profile}, **settings}
    (home / "settings.json").write_text(json.dumps(told))
    return Stage(
        open_session(LaunchOptions(cwd=workspace, attended=attended), {"ROBOTA_HOME": str(home), "HOME": str(home)})
    )


def side_by_side(workspace: Path, first: list[Any], second: list[Any], **settings: Any) -> list[str]:
    """What the model of the second is told, which begins when the first waits for a user."""

    async def run() -> list[str]:
        stages = [opened(workspace, script, **settings) for script in (first, second)]
        try:
            for stage in stages:
                await stage.start()
                await stage.until(lambda event: getattr(getattr(event, "message", None), "ask", None) is not None)
            return [block.content for block in tool_results(stages[1])]
        finally:
            for stage in stages:
                await stage.opened.close()

    return asyncio.run(run())


def test_the_second_session_is_told_who_holds_what_and_splits(workspace: Path) -> None:
    """The first one waits for the user, with its intent selected; the second works beside it."""
    intents(workspace, OVERLAPPING)
    first = turns(SELECT, write("src/auth/tokens/a.py"))
    second = turns(SELECT_DOCS, write("src/auth/tokens/b.py"), write("docs/a.md"))
    seen = side_by_side(workspace, first, second)
    assert "<lease>session" in seen[0] and "INT-001" in seen[0]
    assert told(seen[1])["code"] == "LEASE-001" and str(os.getpid()) in told(seen[1])["message"]


def test_a_directory_that_holds_files_of_another_session_is_not_deleted(workspace: Path) -> None:
    intents(workspace, INTENTS.replace("[docs/**]", "[src/**]"))
    (workspace / "src/auth/tokens").mkdir(parents=True)
    (workspace / "src/auth/tokens/a.py").write_text("kept")
    second = turns(SELECT_DOCS, call("execute_command", command="rm -rf src/auth"))
    seen = side_by_side(workspace, turns(SELECT, write("src/auth/tokens/b.py")), second)
    assert told(seen[1])["code"] == "LEASE-001" and (workspace / "src/auth/tokens/a.py").exists()


def test_the_second_session_is_refused_if_the_user_wants_that(workspace: Path) -> None:
    intents(workspace, OVERLAPPING)
    first = turns(SELECT, write("src/auth/tokens/a.py"))
    seen = side_by_side(workspace, first, turns(SELECT_DOCS), intentOverlap="refuse")
    assert told(seen[0])["code"] == "LEASE-001"


@pytest.mark.parametrize("attended", [True, False])
def test_a_session_waits_until_the_other_has_let_go(workspace: Path, attended: bool) -> None:
    """In print mode, which shows no output of tools, a warning says so."""
    intents(workspace, OVERLAPPING)

    async def run() -> None:
        first = opened(workspace, turns(SELECT, write("src/auth/tokens/a.py")), intentOverlap="wait")
        second = opened(workspace, turns(SELECT_DOCS), attended=attended, intentOverlap="wait")
        try:
            await first.start()
            await first.until_ask("tool")
            await second.start()
            await second.until(
                lambda event: "waits for session" in str(event) and isinstance(event, Notice) != attended
            )
            await first.answer("yesButtonClicked")
            await first.until_ask("completion_result")  # the user is next, so its files are free
            await second.until_ask("completion_result")
            assert "<intent_context>" in tool_results(second)[0].content
        finally:
            await first.opened.close()
            await second.opened.close()

    asyncio.run(asyncio.wait_for(run(), 60))


async def interrupted(stage: Stage) -> None:
    await stage.submit(CancelTask())
    await stage.until_ask("resume_task")
    await asyncio.sleep(0)  # now hooks are told that somebody is waited for


async def cleared(stage: Stage) -> None:
    await stage.submit(ClearTask())


@pytest.mark.parametrize("stopped", [interrupted, cleared])
def test_nothing_is_held_while_the_user_is_next(workspace: Path, stopped: Callable[[Stage], Awaitable[None]]) -> None:
    """A task that is cleared or begins again has no intent."""
    intents(workspace)
    home = workspace.parent / "robota-home"

    def held() -> list[Path]:
        return list((home / "leases").rglob("*.lease"))

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("tool")
        assert held()
        await stopped(stage)
        assert not held()
        await stage.start("another one")
        await stage.until_ask("completion_result")
        assert told(tool_results(stage)[-1].content)["code"] == "HOOK-INT-001"

    scripted = [{"calls": [SELECT]}, *({"calls": [write("src/auth/a.py")]} for _ in range(2)), {"text": "done"}]
    play(workspace, scripted, story, permission_mode="default")
