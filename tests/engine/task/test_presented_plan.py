"""Plan mode ends in a plan, which the user accepts, with the permission mode to carry it out in, or sends back."""

from pathlib import Path
from typing import Any

import pytest

from robota.engine.task.presented_plan import FROM_PLAN_MODE
from robota.log.chain.reader import load
from robota.log.replay.requests import recorded_requests
from robota.protocol.asks.answer import Approve, Reject, Say
from robota.protocol.asks.ask import PlanAsk
from robota.protocol.commands import AskResponse, QueueMessage, SetPermissionMode
from robota.protocol.message import Message
from robota.protocol.permission_mode import PermissionMode
from robota.workspace.sandbox.session_sandbox import SessionSandbox
from tests.engine.stage import Stage, call, play, tool_results

PLAN = "# Plan\n\n1. Write `made.txt`."
PRESENTED = {"calls": [call("present_plan", plan=PLAN)]}
EDIT = {"calls": [call("write_to_file", path="made.txt", content="made\n")]}
END = {"text": "Done."}


def offered(ask: Message) -> tuple[str, ...]:
    """The answers that accept the plan."""
    assert isinstance(ask.asked, PlanAsk)
    return tuple(each.answer for each in ask.asked.suggestions)


def permission_modes(stage: Stage) -> tuple[PermissionMode, PermissionMode | None]:
    """The permission mode that clients are shown, and the one that the log has."""
    header = stage.logged().header
    assert header is not None
    return stage.session.state().permission_mode, header.permission_mode


def plan_mode(workspace: Path, turns: list[Any], story: Any, **launch: Any) -> None:
    play(workspace, turns, story, **{"permission_mode": PermissionMode.PLAN, **launch})


def test_an_accepted_plan_is_carried_out_in_the_permission_mode_of_the_answer(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start("plan it")
        ask = await stage.until_ask("followup")
        assert stage.says("text")[-1] == PLAN
        edits_freely, *_, asks_first = offered(ask)
        assert "acceptEdits" in edits_freely and "default" in asks_first
        await stage.answer("messageResponse", edits_freely, ts=ask.ts)
        await stage.until_ask("completion_result")
        assert permission_modes(stage) == (PermissionMode.ACCEPT_EDITS, PermissionMode.ACCEPT_EDITS)
        assert (workspace / "made.txt").read_text() == "made\n"
        refused, accepted, _ = tool_results(stage)
        assert refused.is_error and accepted.content == "The user accepted the plan. Carry it out."

    plan_mode(workspace, [EDIT, PRESENTED, EDIT, END], story)


def test_the_other_acceptance_asks_before_each_change(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start("plan it")
        ask = await stage.until_ask("followup")
        await stage.answer("messageResponse", offered(ask)[-1], ts=ask.ts)
        await stage.until_ask("tool")
        assert permission_modes(stage) == (PermissionMode.DEFAULT, PermissionMode.DEFAULT)

    plan_mode(workspace, [PRESENTED, EDIT, END], story)


@pytest.mark.parametrize(
    "answer",
    [Say(text="Use a database."), Say(text="{first} now"), Reject(text="{first}"), Approve(), Approve(text="{first}")],
)
def test_any_other_answer_sends_the_plan_back_and_nothing_may_change(workspace: Path, answer: Any) -> None:
    async def story(stage: Stage) -> None:
        await stage.start("plan it")
        ask = await stage.until_ask("followup")
        text = answer.text.format(first=offered(ask)[0])
        await stage.submit(AskResponse(answer=type(answer)(text=text), ts=ask.ts))
        await stage.until_ask("completion_result")
        assert permission_modes(stage) == (PermissionMode.PLAN, PermissionMode.PLAN)
        sent_back, refused = tool_results(stage)
        assert "did not accept the plan" in sent_back.content and text in sent_back.content
        assert refused.is_error and not (workspace / "made.txt").exists()

    plan_mode(workspace, [PRESENTED, EDIT, END], story)


def test_queued_words_never_accept_a_plan(workspace: Path) -> None:
    """Neither those that waited for it, nor those that come while it is shown: only an answer to it does."""

    async def story(stage: Stage) -> None:
        await stage.start("plan it")
        first = await stage.until_ask("followup")
        await stage.submit(QueueMessage(text=offered(first)[0]))
        assert [entry.text for entry in stage.session.state().message_queue] == [offered(first)[0]]
        await stage.answer("messageResponse", "shorter", ts=first.ts)
        second = await stage.until_ask("followup")
        await stage.submit(QueueMessage(text=offered(first)[0]))
        await stage.answer("messageResponse", "no", ts=second.ts)
        await stage.until_ask("completion_result")
        assert permission_modes(stage)[0] is PermissionMode.PLAN

    plan_mode(workspace, [PRESENTED, PRESENTED, END], story)


def test_an_edited_plan_is_presented_again_and_the_model_gets_it_as_edited(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start("plan it")
        ask = await stage.until_ask("followup")
        await stage.answer("messageResponse", "Edited plan:\n\n# Plan\n\n1. Write `other.txt`.", ts=ask.ts)
        again = await stage.until_ask("followup")
        assert isinstance(again.asked, PlanAsk) and again.asked.plan == "# Plan\n\n1. Write `other.txt`."
        assert permission_modes(stage)[0] is PermissionMode.PLAN
        await stage.answer("messageResponse", offered(again)[0], ts=again.ts)
        await stage.until_ask("completion_result")
        [accepted] = tool_results(stage)
        assert "They changed it" in accepted.content and "1. Write `other.txt`." in accepted.content

    plan_mode(workspace, [PRESENTED, END], story)


def test_in_other_permission_modes_the_choice_is_only_to_go_on(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start("plan it")
        ask = await stage.until_ask("followup")
        [go_on] = offered(ask)
        await stage.answer("messageResponse", go_on, ts=ask.ts)
        await stage.until_ask("completion_result")
        assert permission_modes(stage)[0] is PermissionMode.ACCEPT_EDITS
        assert "accepted the plan" in tool_results(stage)[0].content

    play(workspace, [PRESENTED, END], story, permission_mode=PermissionMode.ACCEPT_EDITS)


def test_an_acceptance_holds_as_it_was_offered_whatever_the_mode_is_by_then(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start("plan it")
        ask = await stage.until_ask("followup")
        await stage.submit(SetPermissionMode(permission_mode=PermissionMode.BYPASS))
        await stage.answer("messageResponse", offered(ask)[-1], ts=ask.ts)
        await stage.until_ask("completion_result")
        assert permission_modes(stage)[0] is PermissionMode.DEFAULT

    plan_mode(workspace, [PRESENTED, END], story)


def test_calls_beside_a_plan_do_not_run(workspace: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.start("plan it")
        ask = await stage.until_ask("followup")
        await stage.answer("messageResponse", offered(ask)[0], ts=ask.ts)
        await stage.until_ask("completion_result")
        assert not (workspace / "made.txt").exists()

    plan_mode(workspace, [{"calls": [*PRESENTED["calls"], *EDIT["calls"]]}, END], story)


def test_confined_is_offered_where_it_works_and_checked_like_any_switch(workspace: Path) -> None:
    sandbox = SessionSandbox(workspace, home=None)
    is_confinable = sandbox.backend.kind == "bubblewrap"
    sandbox.close()

    async def story(stage: Stage) -> None:
        await stage.start("plan it")
        ask = await stage.until_ask("followup")
        confined = [text for text in offered(ask) if "(confined)" in text]
        assert len(confined) == is_confinable
        if is_confinable:
            await stage.answer("messageResponse", confined[0], ts=ask.ts)
            await stage.until_ask("completion_result")
            assert permission_modes(stage)[0] is PermissionMode.CONFINED

    plan_mode(workspace, [PRESENTED, END], story)


def test_a_model_cannot_offer_a_permission_mode_in_a_question_of_its_own(workspace: Path) -> None:
    acceptance = next(iter(FROM_PLAN_MODE))
    question = call("ask_followup_question", question="?", follow_up=[{"text": acceptance, "mode": "acceptEdits"}])

    async def story(stage: Stage) -> None:
        await stage.start("plan it")
        ask = await stage.until_ask("followup")
        await stage.answer("messageResponse", acceptance, ts=ask.ts)
        await stage.until_ask("completion_result")
        assert permission_modes(stage) == (PermissionMode.PLAN, PermissionMode.PLAN)

    plan_mode(workspace, [{"calls": [question]}, END], story)


@pytest.mark.parametrize("attended", [True, False])
def test_the_tool_is_offered_and_named_only_where_somebody_can_accept_a_plan(workspace: Path, attended: bool) -> None:
    async def story(stage: Stage) -> None:
        await stage.start("plan it")
        if attended:
            await stage.until_ask("followup")
        else:
            await stage.until_ask("completion_result")
            assert "Nobody can accept a plan here" in tool_results(stage)[0].content
        log = stage.opened.log
        [request, *_] = recorded_requests(load(log.path).records, log.artifact)
        assert ("present_plan" in str(request.tools)) is ("present_plan" in request.system) is attended

    plan_mode(workspace, [PRESENTED, END], story, attended=attended)
