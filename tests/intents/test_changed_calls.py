"""Calls that become others after they were judged: what then runs is held against the intent like any other."""

import json
from pathlib import Path
from typing import Any

import pytest

from robota.protocol.asks.ask import ApprovalAsk
from tests.engine.stage import Stage, call, play, tool_results
from tests.hooks.hooked import answer, decide, on, play_with_hooks
from tests.intents.project import INTENTS, SELECT, intents, told, traced, turns, write

IN_SCOPE = write("src/auth/a.py")
OUT_OF_SCOPE = {"path": "secret.txt", "content": "changed\n"}


def edited(arguments: dict[str, Any]) -> str:
    """The answer of a user who approves the call with other arguments."""
    return json.dumps({"input": arguments})


def rewriting(arguments: dict[str, Any]) -> dict[str, Any]:
    """A hook that says yes in the user's place, to something else."""
    return on("PermissionRequest", answer("allow", updatedInput=arguments), matcher="Write|Bash")


async def finished(stage: Stage) -> None:
    await stage.start()
    await stage.until_ask("completion_result")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(OUT_OF_SCOPE, "REQ-001"), ({**OUT_OF_SCOPE, "path": ".orchestration/x"}, "REQ-001")],
)
def test_what_a_permission_hook_makes_of_a_call_must_be_in_scope_too(
    workspace: Path, arguments: dict[str, Any], code: str
) -> None:
    intents(workspace)
    seen: list[str] = []

    async def story(stage: Stage) -> None:
        await finished(stage)
        seen.extend(block.content for block in tool_results(stage))

    play_with_hooks(workspace, rewriting(arguments), turns(SELECT, IN_SCOPE), story, attended=False)
    assert told(seen[-1])["code"] == code and told(seen[-1])["filename"] == arguments["path"]
    assert not (workspace / arguments["path"]).exists() and not (workspace / "src/auth/a.py").exists()


def test_a_command_of_a_permission_hook_needs_a_user_if_nobody_knows_what_it_changes(workspace: Path) -> None:
    intents(workspace)
    seen: list[str] = []

    async def story(stage: Stage) -> None:
        await stage.start()
        row = await stage.until_ask("command")
        seen.append(row.text or "")
        await stage.answer("noButtonClicked")
        await stage.until_ask("completion_result")

    hook = rewriting({"command": "make secret.txt"})
    asked_for = call("execute_command", command="touch src/auth/a.py")
    play_with_hooks(workspace, hook, turns(SELECT, asked_for), story)
    assert "secret.txt" in seen[0] and not (workspace / "secret.txt").exists()


def test_what_a_permission_hook_makes_of_a_call_is_traced_as_it_ran(workspace: Path) -> None:
    intents(workspace)
    hook = rewriting({"path": "src/auth/b.py", "content": "b\n"})
    play_with_hooks(workspace, hook, turns(SELECT, IN_SCOPE), finished, attended=False)
    assert [record["files"][0]["path"] for record in traced(workspace)] == ["src/auth/b.py"]


def test_a_user_who_changes_a_call_is_told_that_it_leaves_the_scope(workspace: Path) -> None:
    intents(workspace)
    reasons: list[str] = []

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("tool")
        await stage.answer("objectResponse", edited(OUT_OF_SCOPE))
        again = await stage.until_ask("tool")
        assert isinstance(again.asked, ApprovalAsk) and again.asked.verdict is not None
        reasons.append(again.asked.verdict.reason)
        assert not (workspace / "secret.txt").exists()
        await stage.answer("yesButtonClicked", "because I say so")
        await stage.until_ask("completion_result")
        reasons.append(tool_results(stage)[-1].content)

    play(workspace, turns(SELECT, IN_SCOPE), story, permission_mode="default")
    assert "INT-001" in reasons[0] and "secret.txt" in reasons[0] and "src/auth/**" in reasons[0]
    assert "because I say so" in reasons[1] and "changed the input" in reasons[1]
    assert (workspace / "secret.txt").read_text() == "changed\n"
    [record] = traced(workspace)
    assert record["metadata"]["dev.robota"]["approval"] == "user"


def test_a_user_who_changes_a_call_and_then_says_no_gets_nothing_changed(workspace: Path) -> None:
    intents(workspace)

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("tool")
        await stage.answer("objectResponse", edited(OUT_OF_SCOPE))
        await stage.until_ask("tool")
        await stage.answer("noButtonClicked")
        await stage.until_ask("completion_result")
        assert "REQ-001" in tool_results(stage)[-1].content

    play(workspace, turns(SELECT, IN_SCOPE), story, permission_mode="default")
    assert not (workspace / "secret.txt").exists() and not (workspace / "src/auth/a.py").exists()


def test_a_change_that_stays_in_scope_is_asked_about_once(workspace: Path) -> None:
    intents(workspace)

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("tool")
        await stage.answer("objectResponse", edited({"path": "src/auth/b.py", "content": "b\n"}))
        await stage.until_ask("completion_result")

    play(workspace, turns(SELECT, IN_SCOPE), story, permission_mode="default")
    assert (workspace / "src/auth/b.py").read_text() == "b\n"


def test_not_even_a_user_has_the_agent_change_what_steers_it(workspace: Path) -> None:
    intents(workspace)

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("tool")
        await stage.answer("objectResponse", edited({"path": ".orchestration/.intentignore", "content": ""}))
        await stage.until_ask("completion_result")

    play(workspace, turns(SELECT, IN_SCOPE), story, permission_mode="default")
    assert not (workspace / ".orchestration/.intentignore").exists()


def test_the_guard_sees_what_the_user_wrote_and_not_what_a_hook_would_make_of_it(workspace: Path) -> None:
    intents(workspace)
    harmless = on(
        "PreToolUse", decide("ask", updatedInput={"path": "src/auth/a.py", "content": "x\n"}), matcher="Write"
    )

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("tool")
        await stage.answer("objectResponse", edited(OUT_OF_SCOPE))
        again = await stage.until_ask("tool")
        assert isinstance(again.asked, ApprovalAsk) and again.asked.verdict is not None
        assert "secret.txt" in again.asked.verdict.reason
        await stage.answer("noButtonClicked")
        await stage.until_ask("completion_result")

    play_with_hooks(workspace, harmless, turns(SELECT, IN_SCOPE), story)
    assert not (workspace / "secret.txt").exists()


@pytest.mark.parametrize("made", ["COMPLETED", None, "nonsense: ["])
def test_an_intent_that_goes_while_the_user_looks_ends_the_call(workspace: Path, made: str | None) -> None:
    """It is set back to another status, its file is deleted, or it cannot be read any more."""
    directory = intents(workspace)
    seen: list[str] = []

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("tool")
        if made is None:
            (directory / "active_intents.yaml").unlink()
        else:
            text = INTENTS.replace("IN_PROGRESS", made) if made == "COMPLETED" else made
            (directory / "active_intents.yaml").write_text(text)
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")
        seen.append(tool_results(stage)[-1].content)

    play(workspace, turns(SELECT, IN_SCOPE), story, permission_mode="default")
    assert told(seen[0])["code"] == "HOOK-INT-002" and not (workspace / "src/auth/a.py").exists()


def test_a_link_that_comes_while_the_user_looks_does_not_lead_out_of_scope(workspace: Path) -> None:
    intents(workspace)
    (workspace / "elsewhere").mkdir()
    (workspace / "src/auth").mkdir(parents=True)

    async def story(stage: Stage) -> None:
        await stage.start()
        await stage.until_ask("command")
        (workspace / "src/auth").rmdir()
        (workspace / "src/auth").symlink_to(workspace / "elsewhere")
        await stage.answer("yesButtonClicked")
        await stage.until_ask("completion_result")
        assert "REQ-001" in tool_results(stage)[-1].content

    play(
        workspace, turns(SELECT, call("execute_command", command="touch src/auth/x")), story, permission_mode="default"
    )
    assert not (workspace / "elsewhere/x").exists()
