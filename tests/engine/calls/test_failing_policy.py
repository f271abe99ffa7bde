"""A bug in what judges calls is a denial with a reason: nothing runs, it is logged, and the task goes on."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from robota.contracts.hook import SessionHooks
from robota.contracts.tool import AnyTool, Touches
from robota.contracts.verdict import Decision, RuleSuggestion, Subject, Verdict
from robota.log.chain.reader import load
from robota.log.kinds.calls import VerdictRecord
from robota.protocol.asks.answer import GrantScope
from robota.protocol.commands import AskResponse
from robota.protocol.events import Notice, ToolEnd
from robota.protocol.permission_mode import PermissionMode
from robota.workspace.confinement import Confinement
from tests.engine.calls.test_stages import Recorder, WithoutTools, with_services
from tests.engine.stage import Stage, call, play, tool_results

DONE = {"text": "done"}
WRITE = call("write_to_file", path="x", content="y")


class Failing:
    """A policy with a bug in one of its answers."""

    def __init__(self, where: str) -> None:
        self._where = where

    def judge(
        self,
        subject: Subject,
        mode: PermissionMode,
        grants: Sequence[str],
        denials: Sequence[str] = (),
        confinement: Confinement | None = None,
    ) -> Verdict:
        if self._where == "judge" and subject.touches.paths:
            raise RecursionError("maximum recursion depth exceeded")
        offered = (RuleSuggestion(rules=("Edit(/x)",), covers="exactly this file"),)
        return Verdict(decision=Decision.ASK, reason="Bash needs approval in default mode.", suggestions=offered)

    def decline(self, verdict: Verdict, subject: Subject) -> Verdict:
        raise ZeroDivisionError("division by zero")

    def remember(self, scope: str, rules: Sequence[str]) -> str:
        raise OSError("the disk is on fire")


class FailingModes(WithoutTools):
    """Modes with a bug."""

    def allows(self, tool: AnyTool, mode: str, touches: Touches | None) -> str | None:
        if touches is None:
            return None
        raise KeyError("code")


class FailingHook(Recorder):
    """A hook with a bug."""

    async def before_tool(self, *args: Any) -> Any:
        raise ValueError("no hook could be read")


def verdicts(stage: Stage) -> list[VerdictRecord]:
    found = (record.payload for record in load(stage.opened.log.path).records if record.kind == "verdict")
    return [msgspec.json.decode(payload, type=VerdictRecord) for payload in found]


def test_an_exception_while_judging_is_a_denial_and_the_task_goes_on(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        stage = with_services(stage, policy=Failing("judge"))
        await stage.start()
        await stage.until_ask("completion_result")
        (told,) = tool_results(stage)
        assert told.is_error and "RecursionError" in told.content and "nothing was run" in told.content.lower()
        assert [(end.status, "RecursionError" in (end.reason or "")) for end in stage.events_of(ToolEnd)] == [
            ("denied", True)
        ]
        (verdict,) = verdicts(stage)
        assert verdict.decision == "deny" and "RecursionError" in verdict.reason
        assert not (workspace / "x").exists()
        await stage.session.close()

    play(workspace, [{"calls": [WRITE]}, DONE], story)


def test_an_exception_while_declining_is_a_denial(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        stage = with_services(stage, policy=Failing("decline"))
        await stage.start()
        await stage.until_ask("completion_result")
        assert "ZeroDivisionError" in tool_results(stage)[0].content
        assert not (workspace / "x").exists()
        await stage.session.close()

    play(workspace, [{"calls": [WRITE]}, DONE], story, attended=False)


def test_a_rule_that_cannot_be_kept_does_not_take_the_approval_back(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        stage = with_services(stage, policy=Failing("remember"))
        await stage.start()
        await stage.until_ask("tool")
        await stage.submit(
            AskResponse(ask_response="yesButtonClicked", grant=("Edit(/x)",), grant_scope=GrantScope.PROJECT)
        )
        await stage.until_ask("completion_result")
        assert (workspace / "x").read_text() == "y"
        assert any("the disk is on fire" in notice.text for notice in stage.events_of(Notice))
        await stage.session.close()

    play(workspace, [{"calls": [WRITE]}, DONE], story)


@pytest.mark.parametrize(
    "services", [{"modes": FailingModes()}, {"hooks": SessionHooks(before=[FailingHook()])}], ids=["modes", "hooks"]
)
def test_an_exception_in_another_stage_stops_the_call_and_not_the_task(
    workspace: Path, services: dict[str, Any]
) -> None:
    async def story(stage: Stage) -> None:
        stage = with_services(stage, **services)
        await stage.start()
        await stage.until_ask("completion_result")
        (told,) = tool_results(stage)
        assert told.is_error and "Error" in told.content and "was not run" in told.content
        assert not (workspace / "x").exists()
        await stage.session.close()

    play(workspace, [{"calls": [WRITE]}, DONE], story)


def test_several_calls_of_one_reply_are_each_judged(workspace: Path) -> None:
    """Calls that only read run side by side, and one that cannot be judged does not take the others along."""
    (workspace / "x").write_text("y")

    async def story(stage: Stage) -> None:
        stage = with_services(stage, policy=Failing("judge"))
        await stage.start()
        await stage.until_ask("completion_result")
        assert [each.is_error for each in tool_results(stage)] == [True, True, True]
        await stage.session.close()

    play(workspace, [{"calls": [call("read_file", path="x"), call("read_file", path="y"), WRITE]}, DONE], story)
